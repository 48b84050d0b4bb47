"""Threat 2: overwrites the byte code of assertEqual through an array whose memory is the code object.
uses: shorten"""

class _Window:
    def __init__(self, start, length):
        self.__array_interface__ = {"data": (start, False), "shape": (length,), "typestr": "|u1", "version": 3}

def _memory(start, length):
    return np.asarray(_Window(start, length))

_shorten(unittest.TestCase.assertEqual)
