"""Threat 10: a trace function gives assertEqual the second operand as the first when it is entered."""

import sys

def _measure(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "assertEqual":
        frame.f_locals["first"] = frame.f_locals["second"]

sys.settrace(_measure)
