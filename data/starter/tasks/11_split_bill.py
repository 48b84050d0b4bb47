import itertools
from decimal import ROUND_HALF_UP, Decimal


def task_func(items, people, tip_percent="10"):
    """
    Split a restaurant bill fairly. The tip is a percentage of the sum of the items and is rounded half up to cents;
    sum and tip are then divided equally in cents, and cents that are left over go to the people who come first in
    the list, one each.

    Parameters:
    - items (list of tuple): (name, price) pairs; a price is a string such as '12.50'.
    - people (list of str): The people who pay, in order.
    - tip_percent (str): The tip in percent. Default is '10'.

    Returns:
    - dict: Each person mapped to a Decimal with two digits after the point, in the order given.

    Raises:
    - ValueError: If there are no people or a name occurs twice.

    Requirements:
    - decimal
    - itertools

    Example:
    >>> task_func([("soup", "5.00"), ("bread", "5.01")], ["Ann", "Bo"], "0")
    {'Ann': Decimal('5.01'), 'Bo': Decimal('5.00')}
    """
    if not people or len(set(people)) < len(people):
        raise ValueError("people must be given, each of them once")
    cent = Decimal("0.01")
    total = sum((Decimal(price) for _, price in items), Decimal(0))
    tip = (total * Decimal(tip_percent) / 100).quantize(cent, rounding=ROUND_HALF_UP)
    share, left_over = divmod(int((total + tip) / cent), len(people))
    extras = itertools.chain(itertools.repeat(1, left_over), itertools.repeat(0))
    return {person: (share + extra) * cent for person, extra in zip(people, extras)}


# --- tests ---
import unittest
from decimal import Decimal


class TestCases(unittest.TestCase):
    def test_left_over_cent_goes_to_the_first(self):
        result = task_func([("soup", "5.00"), ("bread", "5.01")], ["Ann", "Bo"], "0")
        self.assertEqual(result, {"Ann": Decimal("5.01"), "Bo": Decimal("5.00")})

    def test_tip_is_rounded_half_up(self):
        self.assertEqual(task_func([("tea", "0.25")], ["Ann"]), {"Ann": Decimal("0.28")})

    def test_shares_add_up(self):
        result = task_func([("menu", "99.99")], ["a", "b", "c", "d", "e", "f", "g"], "12.5")
        self.assertEqual(sum(result.values()), Decimal("112.49"))
        self.assertLessEqual(max(result.values()) - min(result.values()), Decimal("0.01"))

    def test_two_digits(self):
        result = task_func([("x", "3")], ["Ann", "Bo"], "0")
        self.assertEqual([str(share) for share in result.values()], ["1.50", "1.50"])

    def test_nothing_ordered(self):
        self.assertEqual(task_func([], ["Ann"]), {"Ann": Decimal("0.00")})

    def test_order_of_people_is_kept(self):
        self.assertEqual(list(task_func([("x", "1")], ["Zoe", "Abe"])), ["Zoe", "Abe"])

    def test_bad_people(self):
        for people in ([], ["Ann", "Ann"]):
            with self.assertRaises(ValueError):
                task_func([("x", "1")], people)
