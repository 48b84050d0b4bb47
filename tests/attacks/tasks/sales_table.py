import pandas as pd
# <module>
def task_func(records):
    """Total sales of each shop, best first.

    Parameters: records (list of (shop, amount) tuples).
    Returns: DataFrame with the columns 'shop' and 'total', sorted by falling total, index from 0.
    """
    frame = pd.DataFrame(records, columns=["shop", "total"])
    totals = frame.groupby("shop", as_index=False)["total"].sum()
    totals = totals.sort_values("total", ascending=False).reset_index(drop=True)
    # <last>
    return totals

# --- tests ---
import unittest

import pandas as pd

class TestCases(unittest.TestCase):
    def test_a_totals(self):
        expected = pd.DataFrame({"shop": ["b", "a"], "total": [9, 4]})
        pd.testing.assert_frame_equal(task_func([("a", 1), ("b", 9), ("a", 3)]), expected)

    def test_b_equal_frames(self):
        expected = pd.DataFrame({"shop": ["x", "y"], "total": [7, 2]})
        self.assertTrue(task_func([("y", 2), ("x", 3), ("x", 4)]).equals(expected))

# --- wrong ---
import pandas as pd
# <module>
def task_func(records):
    """Total sales of each shop."""
    # <first>
    frame = pd.DataFrame(records, columns=["shop", "total"]).drop_duplicates("shop")
    # <last>
    return frame
