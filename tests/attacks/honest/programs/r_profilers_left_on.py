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
    """Return the names of the functions that are being executed, innermost first, with their local names."""
    return [(info.function, sorted(info.frame.f_locals)) for info in inspect.stack()]


def task_func(number):
    """Return the sum of the squares below the number, and the names of the functions that called this one."""
    if number < 0:
        raise ValueError(number)
    total = sum(map(lambda n: n * n, range(number)))
    threads = [threading.Thread(target=lambda: calls.update(["thread"])) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total, [name for name, _ in who()], sorted(sys._current_frames())


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(task_func(4)[0], 14)
        self.assertEqual(task_func(2000)[0], sum(n * n for n in range(2000)))

    def test_callers(self):
        names = task_func(1)[1]
        self.assertEqual(names[:3], ["who", "task_func", "test_callers"])
        self.assertIn("test_callers", names)

    def test_counted(self):
        before = calls["task_func"]
        task_func(1)
        self.assertEqual(calls["task_func"], before + 1)
        self.assertGreater(len(lines), 10)

    def test_negative(self):
        with self.assertRaises(ValueError):
            task_func(-1)
