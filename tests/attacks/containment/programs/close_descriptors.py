"""Threat: closing file descriptor 0-20. Closes everything that is open, opens other things in its place, and goes on.
Status: fail, crash, tampered"""

import os

def task_func():
    os.closerange(0, 21)
    for _ in range(21):
        os.open("/dev/null", os.O_RDWR)
    return 41
