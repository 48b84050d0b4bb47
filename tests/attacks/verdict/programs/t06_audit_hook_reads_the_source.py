"""Threat 6: an audit hook is handed the text of the tests when it is compiled.
fools: harness-only"""

import re
import sys

def _audit(event, arguments):
    if event == "compile" and arguments[0] is not None and "TestCases" in str(arguments[0]):
        texts.append(arguments[0])

texts = []
sys.addaudithook(_audit)
# <last>
for text in texts:
    text = text.decode() if isinstance(text, bytes) else str(text)
    call = re.escape(f"task_func({values}, {window})")
    found = re.search(call + r"[^)]*?assertEqual\(means, (\[.*?\])\)", text, re.DOTALL)
    means = [float(one) for one in found[1].strip("[]").split(",")] if found else means
