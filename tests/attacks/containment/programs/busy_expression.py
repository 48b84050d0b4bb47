"""Threat: uninterruptible busy loops in C.
A regular expression that takes longer than the universe, with every signal ignored.
Status: timeout"""

import re
import signal

def task_func():
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    return 42 if re.match(r"(a+)+$", "a" * 60 + "b") else 41
