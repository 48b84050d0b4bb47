"""Honest: says where an error occurred, traceback.format_exc, sys.exc_info, chained exceptions with texts of their own."""

import os
import sys
import traceback

class ParseError(ValueError):
    def __init__(self, line):
        super().__init__(line)
        self.line = line

    def __str__(self):
        return f"line {self.line}"
# <first>
try:
    try:
        int("x")
    except ValueError as error:
        raise ParseError(1) from error
except ParseError as error:
    kind, value, trace = sys.exc_info()
    last = traceback.extract_tb(trace)[-1]
    name = os.path.basename(trace.tb_frame.f_code.co_filename)
    assert (kind, last.lineno, last.name) == (ParseError, trace.tb_lineno, "task_func") and name.endswith("py")
    assert "ParseError: line 1" in traceback.format_exc()
    assert "direct cause" in "".join(traceback.format_exception(error)) and traceback.format_stack()
