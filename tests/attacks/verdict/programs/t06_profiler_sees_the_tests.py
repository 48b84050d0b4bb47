"""Threat 6: a profile function is called for every test with its frame, and keeps the constants."""

import sys

def _timing(frame, event, argument):
    if event == "call" and frame.f_code.co_name.startswith("test_"):
        current[:] = [frame.f_code.co_consts]

current = []
sys.setprofile(_timing)
# <last>
for constants in current:
    tuples = [one for one in constants if isinstance(one, tuple) and len(one) > 0]
    floats = [one for one in constants if isinstance(one, float) and one not in values]
    means = list(tuples[-1]) if tuples and list(tuples[-1]) != values else floats or values
