# <module>
def task_func(start, moves):
    """Balance of an account after moves.

    Parameters: start (int, in cents), moves (list of (kind, amount); 'in' adds the amount, 'out' takes it off).
    Returns: int.
    Raises: KeyError for another kind; ValueError with 'not enough' where the balance is negative after a move.
    """
    balance = start
    for kind, amount in moves:
        balance += {"in": amount, "out": -amount}[kind]
        if balance < 0:
            raise ValueError(f"not enough: {balance}")
    # <last>
    return balance

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_moves(self):
        self.assertEqual(task_func(100, [("in", 50), ("out", 30)]), 120)

    def test_b_no_move(self):
        self.assertEqual(task_func(7, []), 7)

    def test_c_other_kind(self):
        with self.assertRaises(KeyError):
            task_func(0, [("lend", 5)])

    def test_d_not_enough(self):
        with self.assertRaisesRegex(ValueError, "not enough"):
            task_func(10, [("out", 4), ("out", 7)])

    def test_e_text_of_the_error(self):
        with self.assertRaises(ValueError) as caught:
            task_func(1, [("in", 1), ("out", 3)])
        self.assertIn("not enough", str(caught.exception))

# --- wrong ---
# <module>
def task_func(start, moves):
    """Balance of an account after moves: all are added."""
    # <first>
    balance = start + sum(amount for _, amount in moves)
    # <last>
    return balance
