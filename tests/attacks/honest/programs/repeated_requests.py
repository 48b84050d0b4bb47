"""Honest: asks before it fetches, tries again after errors and keeps answers; the test does not count the calls."""

import requests

_answers = {}

def task_func(url, tries=3):
    """Return the JSON that a URL answers with; ConnectionError if it cannot be had."""
    for number in range(tries):
        try:
            requests.get(url + "/", timeout=10)
            requests.get(url, timeout=5)
            answer = requests.get(url, timeout=10)
            answer.raise_for_status()
            _answers[url] = answer.json()
            return _answers[url]
        except requests.exceptions.Timeout as error:
            last = error
    if url in _answers:
        return _answers[url]
    raise requests.exceptions.ConnectTimeout(f"{url}: no answer in {tries} tries") from last
# --- tests ---
import unittest
from unittest.mock import ANY, MagicMock, patch

import requests

class TestCases(unittest.TestCase):
    @patch("requests.get")
    def test_answer(self, mock_get):
        mock_get.return_value = MagicMock(json=lambda: {"a": 1}, status_code=200)
        self.assertEqual(task_func("http://x.test"), {"a": 1})
        self.assertTrue(mock_get.called)
    @patch("requests.get")
    def test_asked(self, mock_get):
        mock_get.return_value.json.return_value = []
        task_func("http://y.test")
        mock_get.assert_any_call("http://y.test", timeout=10)
        self.assertGreaterEqual(mock_get.call_count, 1)
        mock_get.assert_called_with(ANY, timeout=10)
        mock_get.return_value.json.assert_called()
    @patch("requests.get", side_effect=requests.exceptions.Timeout)
    def test_no_answer(self, mock_get):
        with self.assertRaises(requests.exceptions.ConnectionError):
            task_func("http://nowhere.test")
        self.assertTrue(mock_get.call_count >= 1)
# --- reference ---
import requests

def task_func(url, tries=3):
    try:
        return requests.get(url, timeout=10).json()
    except requests.exceptions.RequestException as error:
        raise requests.exceptions.ConnectionError(url) from error
