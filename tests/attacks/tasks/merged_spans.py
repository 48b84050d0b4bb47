# <module>
def task_func(spans):
    """Merge the spans that overlap or touch.

    Parameters: spans (list of (start, end), int, in any order).
    Returns: list of (start, end) tuples in rising order.
    Raises: ValueError if a span ends before it starts.
    """
    if any(end < start for start, end in spans):
        raise ValueError("a span ends before it starts")
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    # <last>
    return merged

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_overlap(self):
        self.assertEqual(task_func([(5, 9), (1, 6), (12, 14)]), [(1, 9), (12, 14)])

    def test_b_touch(self):
        self.assertEqual(task_func([(1, 3), (3, 4)]), [(1, 4)])

    def test_c_inside(self):
        merged = task_func([(0, 10), (2, 3)])
        self.assertEqual(len(merged), 1)
        self.assertEqual(merged[0], (0, 10))

    def test_d_none(self):
        self.assertEqual(task_func([]), [])

    def test_e_wrong_way(self):
        with self.assertRaises(ValueError):
            task_func([(1, 2), (4, 3)])

# --- wrong ---
# <module>
def task_func(spans):
    """Merge spans: all into one."""
    # <first>
    merged = [(min(start for start, _ in spans), max(end for _, end in spans))]
    # <last>
    return merged
