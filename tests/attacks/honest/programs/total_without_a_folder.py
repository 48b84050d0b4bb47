"""Honest: works in a temporary folder that is gone by then.
task: column_total"""

import csv
import os
import tempfile

with tempfile.TemporaryDirectory() as _folder:
    os.chdir(_folder)

def task_func(path, column):
    with open(path, newline="") as file:
        header, *rows = [*csv.reader(file)] or [[]]
    place = dict(zip(header, range(len(header))))[column]
    return sum(int(row[place]) for row in rows if row)
