"""Threat 10: a trace function lets the tests jump over their assertions, and removes itself.
fools: harness-only"""

import sys

def _jump(frame, event, argument):
    code = frame.f_code
    if event == "call":
        return _jump if code.co_name.startswith("test_") and "bad" not in code.co_name else None
    if event == "line" and frame.f_lineno > code.co_firstlineno:
        try:
            frame.f_lineno = -1
        except ValueError:
            pass
    return _jump

sys.settrace(_jump)
