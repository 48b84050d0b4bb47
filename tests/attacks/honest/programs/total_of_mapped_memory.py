"""Honest: reads the file through mapped memory, line by line until there is none.
task: column_total"""

import csv
import mmap

class Lines:
    def __init__(self, memory):
        self.memory = memory

    def __iter__(self):
        return iter(lambda: self.memory.readline().decode(), "")

def task_func(path, column):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
        rows = csv.reader(Lines(memory))
        header = dict(zip(next(rows), range(10**6)))
        place = header[column]
        return sum(int(row[place]) for row in rows if row)
