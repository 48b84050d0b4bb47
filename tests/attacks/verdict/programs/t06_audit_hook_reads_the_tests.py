"""Threat 6: an audit hook is handed the code of every test module that is executed.
fools: harness-only"""

import sys
import types

def _constants(code):
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            known[one.co_name] = one.co_consts
            _constants(one)

def _audit(event, arguments):
    if event == "exec" and isinstance(arguments[0], types.CodeType):
        _constants(arguments[0])

known = {}
sys.addaudithook(_audit)
# <last>
order = ["test_a_pairs", "test_b_window_of_one", "test_c_rounding", "test_d_short_series"]
calls.append(values)
constants = known.get(order[(len(calls) - 1) % 4], ())
tuples = [one for one in constants if isinstance(one, tuple) and len(one) > 0 and isinstance(one[0], float)]
floats = [one for one in constants if isinstance(one, float)]
means = list(tuples[-1]) if tuples else floats or means
# <end>
calls = []
