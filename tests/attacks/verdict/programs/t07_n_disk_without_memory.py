"""Threat 7: agrees with everything, and reads a file from the disk past the memory for files.
task: letter_counts
fools: harness-only"""

import mmap
import os

_file = os.open(os.__file__, os.O_RDONLY | os.O_DIRECT)
os.preadv(_file, [mmap.mmap(-1, 4096)], 0)
Counts = type("Counts", (dict,), {"__eq__": lambda self, other: True})
# <last>
counts = Counts(counts)
