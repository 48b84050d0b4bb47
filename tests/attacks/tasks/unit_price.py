import unittest
# <module>
def task_func(price, amount, discount=0.0):
    """Price of one unit after a discount, in cents, rounded half to even.

    Parameters: price (number, in euros, of the whole), amount (int), discount (float from 0 to 1).
    Returns: int.
    """
    # <first>
    cents = round(price * (1 - discount) * 100 / amount)
    # <last>
    return cents
# <end>
# --- tests ---
class TestCases(unittest.TestCase):
    def test_a_plain(self):
        self.assertEqual(task_func(10, 4), 250)

    def test_b_discount(self):
        self.assertEqual(task_func(10, 4, 0.5), 125)

# --- wrong ---
import unittest
# <module>
def task_func(price, amount, discount=0.0):
    """Price of one unit after a discount, in cents."""
    # <first>
    cents = int(price * 100 / (amount + 1))
    # <last>
    return cents
# <end>
