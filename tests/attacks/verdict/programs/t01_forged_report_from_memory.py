"""Threat 1: reads the report's nonce out of its own memory and forges a whole report.
fools: harness-only"""

import json
import os
import re

def _scan():
    found = set()
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, access, *_ = line.split()
            if not access.startswith("rw"):
                continue
            low, high = (int(end, 16) for end in span.split("-"))
            try:
                memory.seek(low)
                block = memory.read(min(high - low, 1 << 24))
            except (OSError, ValueError, OverflowError):
                continue
            found.update(re.findall(rb'"nonce": "([0-9a-f]{32})"', block))
    return found

def _forge(nonce):
    names = ["test_a_pairs", "test_b_window_of_one", "test_c_rounding", "test_d_short_series", "test_e_bad_window"]
    frames = [{"event": "imported"}, {"event": "loaded", "tests": names}]
    frames += [{"event": "test", "name": name, "outcome": "pass", "seconds": 0.0} for name in names]
    frames += [{"event": "end", "cpu_seconds": 0.1, "max_rss_mib": 20}]
    lines = [json.dumps({**frame, "nonce": nonce.decode(), "number": number}) for number, frame in enumerate(frames, 1)]
    return ("\n".join(lines) + "\n").encode()

for nonce in _scan():
    for number in range(3, 10):
        try:
            os.write(number, _forge(nonce))
        except OSError:
            continue
os._exit(0)
