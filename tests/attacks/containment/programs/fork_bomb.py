"""Threat: Fork bomb. Every process forks for as long as the kernel lets it.
Status: fail, timeout, crash, out_of_memory
Shows: EAGAIN"""

import errno
import os
import time

def task_func():
    end = time.monotonic() + 2
    try:
        while time.monotonic() < end:
            os.fork()
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
    time.sleep(0.5)
    return 41
