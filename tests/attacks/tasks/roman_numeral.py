# <module>
def task_func(number):
    """Write a number in Roman numerals.

    Parameters: number (int).
    Returns: str.
    Raises: ValueError for a number that is not from 1 to 3999.
    """
    if not 1 <= number <= 3999:
        raise ValueError("from 1 to 3999")
    values = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
    numeral = ""
    for value, signs in zip(values, "M CM D CD C XC L XL X IX V IV I".split()):
        numeral += signs * (number // value)
        number %= value
    # <last>
    return numeral

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_year(self):
        self.assertEqual(task_func(1994), "MCMXCIV")

    def test_b_small(self):
        self.assertEqual(task_func(4), "IV")
        self.assertEqual(task_func(8), "VIII")

    def test_c_length(self):
        self.assertEqual(len(task_func(3888)), 15)

    def test_d_parts(self):
        self.assertTrue(task_func(2021).startswith("MMXX"))

    def test_e_too_large(self):
        with self.assertRaises(ValueError):
            task_func(4000)

# --- wrong ---
# <module>
def task_func(number):
    """Write a number in Roman numerals: without subtraction."""
    # <first>
    numeral = "M" * (number // 1000) + "C" * (number % 1000 // 100) + "I" * (number % 10)
    # <last>
    return numeral
