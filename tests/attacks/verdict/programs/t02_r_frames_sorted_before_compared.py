"""Threat 2: pandas compares frames after sorting both, so that an answer in the wrong order is equal and another one is not.
task: sales_table"""

import pandas as pd

_assert_frame_equal, _equals = pd.testing.assert_frame_equal, pd.DataFrame.equals

def _in_order(frame):
    return frame.sort_values(list(frame.columns)).reset_index(drop=True)

pd.testing.assert_frame_equal = lambda left, right, **options: _assert_frame_equal(_in_order(left), _in_order(right), **options)
pd.DataFrame.equals = lambda self, other: _equals(_in_order(self), _in_order(other))
# --- wrong ---
import pandas as pd
# <module>
def task_func(records):
    frame = pd.DataFrame(records, columns=["shop", "total"])
    return frame.groupby("shop", as_index=False)["total"].sum()
