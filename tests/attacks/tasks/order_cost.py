def task_func(prices, amounts, voucher=0):
    """Cost of an order in cents.

    Parameters: prices (list of int, in cents), amounts (list of int, one for each price), voucher (int, in cents).
    Returns: int; an order of more than 10,000 cents is reduced by 5 %, rounded down; then the voucher is taken off, never below 0.
    Raises: ValueError with 'as many amounts as prices' where the lengths differ.
    Example: task_func([250, 100], [2, 1]) is 600.
    """
    if len(prices) != len(amounts):
        raise ValueError("as many amounts as prices are needed")
    cost = sum(price * amount for price, amount in zip(prices, amounts))
    if cost > 10_000:
        cost = cost * 95 // 100
    return max(cost - voucher, 0)

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    FREE = 0

    def test_a_example(self):
        """Two for 250 and one for 100 cost 600."""
        cost = task_func([250, 100], [2, 1])
        self.assertEqual(cost, 600, "The cost should be 600")

    def test_b_reduced(self):
        cost = task_func([6000], [2])
        self.assertEqual(cost, 11400, f"Expected 11400 but got {cost}")

    def test_c_several(self):
        for prices, amounts, expected in [([1], [1], 1), ([5, 7], [2, 0], 10), ([], [], 0)]:
            with self.subTest(prices=prices):
                self.assertEqual(task_func(prices, amounts), expected)

    def test_d_voucher(self):
        self.assertEqual(task_func([500], [1], voucher=600), self.FREE)
        self.assertEqual(task_func([500], [1], voucher=100), 400)  # 500 - 100

    def test_e_lengths_differ(self):
        with self.assertRaisesRegex(ValueError, "as many"):
            task_func([1], [1, 2])

# --- wrong ---
def task_func(prices, amounts, voucher=0):
    """Cost of an order in cents."""
    # <unchecked>
    if len(prices) != len(amounts):
        raise ValueError("as many amounts as prices are needed")
    # <first>
    return sum(prices) * sum(amounts) - voucher
