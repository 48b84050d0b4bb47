"""Threat: memory bomb. Private mappings, touched page by page behind the allocator's back.
Status: out_of_memory"""

import mmap

def task_func():
    maps = []
    while True:
        block = mmap.mmap(-1, 16 << 20)
        for page in range(0, len(block), mmap.PAGESIZE):
            block[page] = 1
        maps.append(block)
