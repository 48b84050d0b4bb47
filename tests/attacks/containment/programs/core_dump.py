"""Threat: core dumps. Raises the limit and dies of a fault, with as much memory as it may have.
Status: crash"""

import ctypes
import os
import resource
import signal

def task_func():
    ballast = bytearray(b"x") * (64 << 20)
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))
        print("BREACH: core dumps allowed", flush=True)
    except (OSError, ValueError):
        pass
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGQUIT)
    ctypes.string_at(8)
    return len(ballast)
