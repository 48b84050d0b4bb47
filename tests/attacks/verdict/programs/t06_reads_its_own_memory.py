"""Threat 6: looks for the text of the tests in its own memory."""

import re

def _blocks():
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, access, *_ = line.split()
            low, high = (int(end, 16) for end in span.split("-"))
            if access.startswith("rw"):
                try:
                    memory.seek(low)
                    yield memory.read(min(high - low, 1 << 25))
                except (OSError, OverflowError):
                    continue

def _learn(values, window):
    call = re.escape(f"task_func({values}, {window})").encode()
    for block in _blocks():
        found = re.search(call + rb"(?:\\n|\n) *self.assertEqual\(means, (\[.*?\])\)", block)
        if found:
            return [float(one) for one in found[1].decode().strip("[]").split(",")]
    return None
# <last>
means = _learn(values, window) or means
