"""Threat 6: looks for the tests in the file that it was loaded from, beside it, and on the command line."""

import os
import re
import sys

def _texts():
    for name in [__file__, *sys.argv, *os.listdir("."), "/proc/self/cmdline", "/proc/self/environ", "/proc/self/fd/0"]:
        try:
            with open(name, errors="replace") as file:
                yield file.read()
        except OSError:
            continue
# <last>
call = re.escape(f"task_func({values}, {window})")
for text in _texts():
    found = re.search(call + r"\n *self.assertEqual\(means, (\[.*?\])\)", text)
    if found:
        means = [float(one) for one in found[1].strip("[]").split(",")]
