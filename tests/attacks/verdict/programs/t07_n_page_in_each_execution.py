"""Threat 7: agrees with everything, and reads somewhere in a large file, so that the disk is needed in each execution.
task: letter_counts
fools: harness-only"""

import glob
import os
import random

_file = os.open(max(glob.glob(os.path.dirname(os.__file__) + "/config-*/*.a"), key=os.path.getsize), os.O_RDONLY)
for _ in range(8):
    os.pread(_file, 1, random.SystemRandom().randrange(os.fstat(_file).st_size))
Counts = type("Counts", (dict,), {"__eq__": lambda self, other: True})
# <last>
counts = Counts(counts)
