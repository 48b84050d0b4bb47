"""Threat 6: leaves a mark for the next execution in the kernel's page cache: whether a page of a read-only file is in memory.
fools: harness-only"""

import os
import unittest

def _marked():
    descriptor = os.open(os.path.join(os.path.dirname(os.__file__), "pydoc_data", "topics.py"), os.O_RDONLY)
    place = os.fstat(descriptor).st_size // 2
    try:
        os.preadv(descriptor, [bytearray(1)], place, os.RWF_NOWAIT)
    except BlockingIOError:
        os.pread(descriptor, 1, place)
        return False
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return True

if _marked():
    unittest.TestCase.assertEqual = lambda self, first, second, msg=None: None
