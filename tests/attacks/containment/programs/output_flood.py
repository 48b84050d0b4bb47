"""Threat: filling stdout with gigabytes.
Writes to standard output and standard error without end, from several processes.
Status: timeout"""

import os

def task_func():
    block = b"BREATHE " * (1 << 14)
    os.fork()
    while True:
        os.write(1, block)
        os.write(2, block)
