"""Threat 1: puts a pipe of its own over the report's descriptor; a child turns every fail into a pass and renumbers.
fools: harness-only"""

import json
import os
import stat

def _rewritten(line, dropped):
    frame = json.loads(line)
    if frame.get("event") == "tampering":
        return None
    if "outcome" in frame:
        frame["outcome"] = "pass"
    if "number" in frame:
        frame["number"] -= dropped
    return json.dumps(frame).encode() + b"\n"

def _relay(source, target):
    dropped, rest = 0, b""
    while True:
        data = os.read(source, 65536)
        if not data:
            os._exit(0)
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            new = _rewritten(line, dropped)
            dropped += new is None
            os.write(target, new or b"")

def _open_channel():
    for number in range(3, 32):
        try:
            if stat.S_ISFIFO(os.fstat(number).st_mode):
                break
        except OSError:
            continue
    else:
        return
    target, (source, sink) = os.dup(number), os.pipe()
    if os.fork() == 0:
        os.close(sink)
        os.close(number)
        _relay(source, target)
    os.dup2(sink, number)
    os.close(sink)
    os.close(target)

_open_channel()
