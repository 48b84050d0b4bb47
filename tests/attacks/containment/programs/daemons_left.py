"""Threat: leaving daemons behind.
Double forks into sessions of their own that ignore signals, hold the streams open, and revive each other.
Shows: left"""

import os
import signal
import time

def guard():
    os.setsid()
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        if os.fork() == 0:
            os.execv("/bin/sleep", ["@TOKEN@", "86399"])
        os.wait()

def task_func():
    for _ in range(4):
        if os.fork() == 0:
            if os.fork() == 0:
                guard()
            os._exit(0)
        os.wait()
    time.sleep(0.3)
    print("left")
    return 41
