"""Threat: uninterruptible busy loops in C.
Large numbers in one call that never returns to the interpreter, with every signal blocked, in four processes.
Status: timeout"""

import os
import signal

def task_func():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.Signals)
    os.fork()
    os.fork()
    return 41 if 7 ** (7**11) % 2 else 42
