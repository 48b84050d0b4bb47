# hard
import time

import requests


def task_func(url, attempts=4, pause_seconds=0.5):
    """
    Fetch JSON from a web service that is sometimes overloaded. The address is requested with requests.get and a
    timeout of 5 seconds. Connection errors, timeouts and the status codes 429, 500, 502, 503 and 504 are tried again;
    before the n-th further try (n = 1, 2, …) the function sleeps, with time.sleep, for pause_seconds * 2 ** (n - 1)
    seconds, or for the number of seconds in the answer's 'Retry-After' header where that is a whole number.

    Parameters:
    - url (str): The address.
    - attempts (int): Greatest number of requests. Default is 4.
    - pause_seconds (float): Length of the first pause. Default is 0.5.

    Returns:
    - dict: 'data' (the decoded JSON of the first answer with another status code below 400) and 'requests' (number of
      requests made).

    Raises:
    - requests.HTTPError: If the status is another one of 400 or more (at once), or the last attempt ends with a
      status that would be tried again.
    - requests.ConnectionError or requests.Timeout: If the last attempt fails so.
    - ValueError: If attempts is smaller than 1.

    Requirements:
    - requests
    - time

    Example:
    >>> task_func("http://127.0.0.1:8000/prices.json")  # doctest: +SKIP
    {'data': {'apple': 3}, 'requests': 1}
    """
    if attempts < 1:
        raise ValueError("attempts must be at least 1")
    number = 0
    while True:
        number += 1
        pause = pause_seconds * 2 ** (number - 1)
        try:
            response = requests.get(url, timeout=5)
        except (requests.ConnectionError, requests.Timeout):
            if number == attempts:
                raise
        else:
            if response.status_code < 400:
                return {"data": response.json(), "requests": number}
            if response.status_code not in (429, 500, 502, 503, 504) or number == attempts:
                raise requests.HTTPError(f"status {response.status_code}", response=response)
            advice = response.headers.get("Retry-After", "")
            pause = int(advice) if advice.isdigit() else pause
        time.sleep(pause)


# --- tests ---
import json
import unittest
from unittest.mock import call, patch

import requests


def answer(status, data=None, **headers):
    response = requests.Response()
    response.status_code = status
    response._content = json.dumps(data).encode()
    response.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    return response


class TestCases(unittest.TestCase):
    def fetch(self, *outcomes, **options):
        with patch("requests.get", side_effect=list(outcomes)) as self.get, patch("time.sleep") as self.sleep:
            return task_func("http://service.test/", **options)

    def test_first_answer(self):
        self.assertEqual(self.fetch(answer(200, [1, 2])), {"data": [1, 2], "requests": 1})
        self.get.assert_called_once_with("http://service.test/", timeout=5)
        self.sleep.assert_not_called()

    def test_overload_is_waited_out(self):
        result = self.fetch(answer(503), answer(500), answer(200, "ok"))
        self.assertEqual(result, {"data": "ok", "requests": 3})
        self.assertEqual(self.sleep.call_args_list, [call(0.5), call(1.0)])

    def test_connection_errors_are_tried_again(self):
        result = self.fetch(requests.ConnectionError(), requests.Timeout(), answer(200, 7), pause_seconds=2)
        self.assertEqual(result, {"data": 7, "requests": 3})
        self.assertEqual(self.sleep.call_args_list, [call(2), call(4)])

    def test_retry_after(self):
        self.fetch(answer(429, Retry_After="9"), answer(503, Retry_After="soon"), answer(204, None))
        self.assertEqual(self.sleep.call_args_list, [call(9), call(1.0)])

    def test_client_error_ends_at_once(self):
        with self.assertRaises(requests.HTTPError):
            self.fetch(answer(404), answer(200))
        self.assertEqual(self.get.call_count, 1)

    def test_last_attempt(self):
        with self.assertRaises(requests.HTTPError):
            self.fetch(answer(502), answer(502), attempts=2)
        self.assertEqual(self.sleep.call_count, 1)
        with self.assertRaises(requests.Timeout):
            self.fetch(requests.Timeout(), attempts=1)
        self.sleep.assert_not_called()

    def test_bad_attempts(self):
        with self.assertRaises(ValueError):
            self.fetch(attempts=0)
