"""Threat: thread bomb. Starts threads that sleep until no more can be had.
Shows: refused"""

import threading
import time

def task_func():
    started = 0
    try:
        while started < 5000:
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            started += 1
    except RuntimeError:
        print("refused after fewer than 64" if started < 64 else "BREACH %d threads" % started)
    return 41
