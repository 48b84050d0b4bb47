"""Threat: SIGSTOP of itself. Stops, so that no time of its own passes.
Status: timeout"""

import os
import signal

def task_func():
    os.kill(os.getpid(), signal.SIGSTOP)
    return 41
