"""Honest: a call counter, a line tracer, a sampling profiler and a logger of frames, which stay on while it is tested."""

import inspect
import signal
import sys
import threading
from collections import Counter

calls = Counter()
lines = Counter()
samples = Counter()

def _profile(frame, event, argument):
    if event == "call":
        calls[frame.f_code.co_name] += 1
    elif event == "c_call":
        calls[getattr(argument, "__name__", "?")] += 1

def _trace(frame, event, argument):
    lines[frame.f_code.co_filename, frame.f_lineno] += 1
    return _trace

def _sample(number, frame):
    while frame is not None:
        samples[frame.f_code.co_name, tuple(sorted(frame.f_locals))] += 1
        frame = frame.f_back

signal.signal(signal.SIGPROF, _sample)
signal.setitimer(signal.ITIMER_PROF, 0.002, 0.002)
sys.setprofile(_profile)
threading.setprofile(_profile)
sys.settrace(_trace)
threading.settrace(_trace)

def who():
    return [(info.function, sorted(info.frame.f_locals)) for info in inspect.stack()]
# <first>
before = calls["who"]
assert [name for name, _ in who()][:2] == ["who", "task_func"] and sys._current_frames()
thread = threading.Thread(target=lambda: calls.update(["thread"]))
thread.start()
thread.join()
assert calls["who"] > before and calls["thread"] and len(lines) > 5
