"""Honest: the encoded bytes are a read-only view of memory that is not copied.
task: run_lengths"""

import re

def task_func(data):
    encoded = bytearray()
    for run in re.finditer(rb"(.)\1{0,254}", data, re.DOTALL):
        encoded += bytes((len(run[0]), run[0][0]))
    return memoryview(encoded).toreadonly()
