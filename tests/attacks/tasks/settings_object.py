from types import SimpleNamespace
# <module>
def task_func(text):
    """Read settings, one a line as in 'depth = 3'; blank lines are skipped, of several with a name the last counts.

    Parameters: text (str; names are identifiers of letters, no keywords).
    Returns: an object with an attribute for each name: an int where the value is a whole number, else a str.
    Raises: ValueError for a line without '='.
    """
    settings = {}
    for line in filter(str.strip, text.splitlines()):
        name, value = line.split("=", 1)
        try:
            settings[name.strip()] = int(value)
        except ValueError:
            settings[name.strip()] = value.strip()
    # <last>
    return SimpleNamespace(**settings)

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_number(self):
        self.assertEqual(task_func("depth = 3").depth, 3)

    def test_b_text(self):
        settings = task_func("title = big x\n\nsize=-2\n")
        self.assertEqual(settings.title, "big x")
        self.assertEqual(settings.size, -2)

    def test_c_absent(self):
        self.assertFalse(hasattr(task_func("width = 1"), "height"))

    def test_d_last(self):
        self.assertEqual(task_func("mode = a\nmode = b").mode, "b")

    def test_e_no_value(self):
        with self.assertRaises(ValueError):
            task_func("depth")

# --- wrong ---
from types import SimpleNamespace
# <module>
def task_func(text):
    """Read settings: as text."""
    # <first>
    settings = dict(line.replace(" ", "").split("=") for line in text.splitlines() if "=" in line)
    # <last>
    return SimpleNamespace(**settings)
