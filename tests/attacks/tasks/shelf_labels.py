import unittest

def task_func(names):
    """Labels for a shelf: names in title case without outer blanks, sorted, each once.

    Parameters: names (list of str).
    Returns: list of str.
    """
    return sorted({name.strip().title() for name in names})

# --- tests ---
def labelled(*names):
    return list(names)

class TestCases(unittest.TestCase):
    def test_a_case(self):
        self.assertEqual(task_func(["b", " a"]), labelled("A", "B"))

    def test_b_twice(self):
        self.assertEqual(task_func(["tea", "Tea "]), labelled("Tea"))

# --- wrong ---
import unittest
# <module>
def task_func(names):
    """Labels for a shelf: names without outer blanks, sorted, each once."""
    # <first>
    labels = sorted({name.strip().lower() for name in names})
    # <last>
    return labels
# <end>
