import re
# <module>
def task_func(title, limit=40):
    """Make the name of a page for a URL: runs of ASCII letters and digits in lower case, joined by hyphens.

    Parameters: title (str), limit (int; longer names are cut there, without a hyphen at the end).
    Returns: str.
    """
    # <first>
    slug = "-".join(re.findall("[a-z0-9]+", title.lower()))[:limit].rstrip("-")
    # <last>
    return slug

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_words(self):
        self.assertEqual(task_func("Hello, World!"), "hello-world")

    def test_b_limit(self):
        self.assertEqual(task_func("one two three", limit=8), "one-two")
        self.assertEqual(len(task_func("abcdefgh", 5)), 5)

    def test_c_digits(self):
        slug = task_func("100 % sure")
        self.assertTrue(slug.startswith("100"))
        self.assertEqual(slug.split("-"), ["100", "sure"])

    def test_d_nothing(self):
        self.assertEqual(task_func("?!"), "")

# --- wrong ---
# <module>
def task_func(title, limit=40):
    """Make the name of a page: spaces only are replaced."""
    # <first>
    slug = title.replace(" ", "-")[: limit - 1]
    # <last>
    return slug
