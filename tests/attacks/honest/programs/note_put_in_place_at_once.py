"""Honest: the note is written under another name, synchronised and moved, so that nobody sees half of it.
task: daily_note"""

import contextlib
import os
import tempfile
from pathlib import Path

@contextlib.contextmanager
def replaced(place):
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=".", text=True)
    try:
        with open(handle, "w") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, place)
    except BaseException:
        os.unlink(name)
        raise

class Folder(type(Path())):
    def made(self):
        self.mkdir(parents=True, exist_ok=True)
        return self

def task_func(folder, day, lines):
    kept = [line for line in lines if line.strip()]
    with replaced(Folder(folder).made() / f"{day}.txt") as file:
        file.writelines(line + "\n" for line in kept)
    return len(kept)
