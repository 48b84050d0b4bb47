"""Honest: copies the file to a temporary one, which is removed when the object that holds it is collected.
task: column_total"""

import csv
import fileinput
import os
import shutil
import tempfile
import weakref

class Copy:
    def __init__(self, path):
        handle, self.path = tempfile.mkstemp(suffix=".csv", dir=tempfile.mkdtemp())
        os.close(handle)
        self.remove = weakref.finalize(self, shutil.rmtree, os.path.dirname(self.path))
        shutil.copyfile(path, self.path)

    def __fspath__(self):
        return self.path

def task_func(path, column):
    copy, total = Copy(path), 0
    with fileinput.input(os.fspath(copy), openhook=fileinput.hook_encoded("utf-8")) as lines:
        rows = csv.DictReader(lines)
        if column not in (rows.fieldnames or []):
            raise KeyError(column)
        for row in rows:
            total += int(row[column])
    assert copy.remove.alive and os.path.exists(copy)
    place, copy = copy.path, None
    assert not os.path.exists(place)
    return total
