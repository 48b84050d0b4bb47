def task_func(session, addresses, retries=2):
    """Fetch the titles of web pages.

    Parameters: session (object whose get(address, timeout=5) returns a page with .status and .title),
    addresses (list of str), retries (int, further tries after a status other than 200).
    Returns: dict of address to title; None where no try succeeded.
    """
    titles = {}
    for address in addresses:
        titles[address] = None
        for _ in range(retries + 1):
            page = session.get(address, timeout=5)
            if page.status == 200:
                titles[address] = page.title
                break
    return titles

# --- tests ---
import unittest
from unittest.mock import MagicMock, call

class TestCases(unittest.TestCase):
    def setUp(self):
        self.session = MagicMock()

    def test_a_one_page(self):
        self.session.get.return_value = MagicMock(status=200, title="Home")
        self.assertIsInstance(task_func(self.session, ["a"]), dict)
        self.session.get.assert_called_once_with("a", timeout=5)

    def test_b_retries(self):
        self.session.get.return_value = MagicMock(status=500)
        task_func(self.session, ["a"], retries=1)
        self.session.get.assert_has_calls([call("a", timeout=5), call("a", timeout=5)])

    def test_c_no_pages(self):
        task_func(self.session, [])
        self.session.get.assert_not_called()

# --- wrong ---
def task_func(session, addresses, retries=2):
    """Fetch the titles of web pages."""
    titles = {}
    # <first>
    for address in addresses:
        titles[address] = session.get(address).title
    # <last>
    return titles
