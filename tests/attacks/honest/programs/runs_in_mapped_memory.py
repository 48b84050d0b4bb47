"""Honest: encodes into anonymous mapped memory, which is resized, searched and cut.
task: run_lengths"""

import mmap
from itertools import groupby

def task_func(data):
    if not isinstance(data, bytes):
        raise TypeError("bytes are needed")
    with mmap.mmap(-1, 2 * len(data) + mmap.PAGESIZE) as memory:
        for value, run in groupby(data):
            length = sum(1 for _ in run)
            for start in range(0, length, 255):
                memory.write(min(255, length - start).to_bytes(1, "big"))
                memory.write_byte(value)
        size = memory.tell()
        memory.seek(0)
        return memory.read(size)
