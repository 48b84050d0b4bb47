import bisect
import itertools
import math


def task_func(values, weights, percentiles):
    """
    Compute weighted percentiles of a list of numbers. The percentile p is the smallest value whose cumulative weight,
    summed over the values in ascending order, reaches p percent of the total weight. Values of weight zero are
    ignored.

    Parameters:
    - values (list of float): The numbers, in any order.
    - weights (list of float): The weight of each number.
    - percentiles (list of float): Percentiles in 0 to 100.

    Returns:
    - list of float: The value of each percentile, in the order they were asked for.

    Raises:
    - ValueError: If the lists differ in length, a weight is negative or not finite, the total weight is zero, or a
      percentile lies outside 0 to 100.

    Requirements:
    - bisect
    - itertools
    - math

    Example:
    >>> task_func([10, 20, 30], [1, 1, 2], [25, 50, 75])
    [10, 20, 30]
    """
    if len(values) != len(weights):
        raise ValueError("values and weights differ in length")
    if any(weight < 0 or not math.isfinite(weight) for weight in weights):
        raise ValueError("weights must be finite and not negative")
    pairs = sorted((value, weight) for value, weight in zip(values, weights) if weight > 0)
    if not pairs:
        raise ValueError("the total weight is zero")
    cumulative = list(itertools.accumulate(weight for _, weight in pairs))
    result = []
    for percentile in percentiles:
        if not 0 <= percentile <= 100:
            raise ValueError(f"percentile {percentile} is outside 0 to 100")
        position = bisect.bisect_left(cumulative, percentile / 100 * cumulative[-1])
        result.append(pairs[position][0])
    return result


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_quartiles(self):
        self.assertEqual(task_func([10, 20, 30], [1, 1, 2], [25, 50, 75]), [10, 20, 30])

    def test_order_of_values_does_not_matter(self):
        self.assertEqual(task_func([30, 10, 20], [2, 1, 1], [50]), [20])

    def test_ends(self):
        self.assertEqual(task_func([5, 1, 3], [1, 1, 1], [0, 100]), [1, 5])

    def test_zero_weights_are_ignored(self):
        self.assertEqual(task_func([0, 7, 99], [0, 4, 0], [0, 50, 100]), [7, 7, 7])

    def test_lengths_must_agree(self):
        with self.assertRaises(ValueError):
            task_func([1, 2], [1], [50])

    def test_bad_weights(self):
        for weights in ([-1, 2], [math.inf, 1], [0, 0]):
            with self.assertRaises(ValueError):
                task_func([1, 2], weights, [50])

    def test_bad_percentile(self):
        with self.assertRaises(ValueError):
            task_func([1, 2], [1, 1], [101])
