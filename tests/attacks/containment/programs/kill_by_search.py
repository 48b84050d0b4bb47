"""Threat: killing siblings by pid. Walks through all process numbers of a large machine.
Status: fail, crash, tampered
Shows: tried"""

import os
import signal

def task_func():
    mine, others = os.getpid(), 0
    for pid in range(2, 80000):
        if pid != mine:
            try:
                os.kill(pid, signal.SIGKILL)
                others += 1
            except OSError:
                continue
    print("BREACH: killed %d" % others if others > 2 else "tried", flush=True)
    return 41
