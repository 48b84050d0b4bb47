"""Threat: killing the parent or siblings by pid or by group.
Every process, group and parent that can be named, with every signal that cannot be ignored.
Status: fail, crash, tampered
Shows: tried"""

import os
import signal

def task_func():
    mine = os.getpid()
    os.setpgid(0, 0) if os.getpid() != os.getsid(0) else None
    for number in (signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
        for pid in (1, os.getppid(), int("@EXECUTOR_PID@"), -int("@EXECUTOR_PID@")):
            if pid not in (0, mine):
                try:
                    os.kill(pid, number)
                except OSError:
                    continue
    print("tried", flush=True)
    os.kill(-1, signal.SIGKILL)
    return 41
