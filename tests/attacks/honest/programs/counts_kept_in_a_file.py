"""Honest: counts are kept in a shelf in a temporary folder and read back as they are asked for.
task: letter_counts"""

import dbm.dumb
import os
import shelve
import tempfile

def task_func(text):
    with tempfile.TemporaryDirectory() as folder:
        base = dbm.dumb.open(os.path.join(folder, "counts"), "n")
        with shelve.Shelf(base, writeback=True) as shelf:
            for sign in text.lower():
                if sign.isalpha():
                    shelf[sign] = shelf.get(sign, 0) + 1
            return dict(shelf)
