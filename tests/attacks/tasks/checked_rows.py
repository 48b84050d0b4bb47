import logging
import warnings
# <module>
def task_func(rows):
    """Sum of the rows that are whole numbers.

    Parameters: rows (list of str).
    Returns: int. For each other row a UserWarning is given, and a warning that names it is logged by the logger 'rows'.
    """
    total = 0
    for row in rows:
        try:
            total += int(row)
        except ValueError:
            logging.getLogger("rows").warning("no number: %s", row)
            warnings.warn(f"no number: {row}", UserWarning)
    return total

# --- tests ---
import logging
import unittest
import warnings

class TestCases(unittest.TestCase):
    def test_a_numbers(self):
        self.assertEqual(task_func(["1", "-4", " 8"]), 5)

    def test_b_warned(self):
        with self.assertWarns(UserWarning):
            self.assertEqual(task_func(["2", "x"]), 2)

    def test_c_logged(self):
        with self.assertLogs("rows", level="WARNING") as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            task_func(["pear", "3"])
        self.assertIn("pear", caught.output[0])

    def test_d_none(self):
        self.assertEqual(task_func([]), 0)

# --- wrong ---
import logging
import warnings
# <module>
def task_func(rows):
    """Sum of the rows that are whole numbers: those without a sign."""
    # <first>
    total = sum(int(row) for row in rows if row.isdigit())
    # <last>
    return total
