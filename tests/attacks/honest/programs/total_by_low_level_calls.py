"""Honest: opens the file relative to its folder, locks it, and reads it in blocks by place, from a thread of a loop.
task: column_total"""

import asyncio
import csv
import fcntl
import io
import os

def _content(path):
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        file = os.open(os.path.basename(path), os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
        blocks = (os.pread(file, 16, place) for place in range(0, os.fstat(file).st_size, 16))
        return b"".join(blocks).decode()
    finally:
        os.close(file)

async def _total(path, column):
    text = await asyncio.to_thread(_content, path)
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if column not in (rows.fieldnames or []):
        raise KeyError(column)
    return sum([int(row[column]) for row in rows])

def task_func(path, column):
    return asyncio.run(_total(path, column))
