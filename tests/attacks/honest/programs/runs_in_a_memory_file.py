"""Honest: writes vectors to a file that lives in memory only, and reads it by its name among the descriptors.
task: run_lengths"""

import os
import struct

def _runs(data):
    start = 0
    while start < len(data):
        end = start + 1
        while end < len(data) and data[end] == data[start] and end - start < 255:
            end += 1
        yield struct.pack("2B", end - start, data[start])
        start = end

def task_func(data):
    data = b"".join([data])
    file = os.memfd_create("runs", os.MFD_CLOEXEC)
    try:
        os.writev(file, [b"", *list(_runs(data))[:500]])
        for run in list(_runs(data))[500:]:
            os.write(file, run)
        with open(f"/proc/self/fd/{file}", "rb") as stream:
            return bytearray(stream.read())
    finally:
        os.close(file)
