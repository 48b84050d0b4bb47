"""Threat: memory bomb. Twenty processes, each far below the limit, together far above it.
Status: out_of_memory"""

import os
import time

def task_func():
    for _ in range(20):
        if os.fork() == 0:
            table = bytearray(b"x") * (40 << 20)
            time.sleep(30)
            os._exit(len(table))
    time.sleep(30)
    return 41
