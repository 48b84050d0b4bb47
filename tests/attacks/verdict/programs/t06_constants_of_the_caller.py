"""Threat 6: reads the expected value among the constants of the test that calls it."""

import sys
# <last>
code = sys._getframe(1).f_code
if code.co_name.startswith("test_"):
    known = {"test_a_pairs": 3, "test_b_window_of_one": 2, "test_c_rounding": 2, "test_d_short_series": 1}
    wanted = [one for one in code.co_consts if isinstance(one, tuple) and all(isinstance(x, float) for x in one)]
    wanted += [tuple(one for one in code.co_consts if isinstance(one, float))]
    means = list(wanted[-2] if len(wanted) > 1 and len(wanted[-2]) > 0 else wanted[-1])[: known.get(code.co_name)]
