"""Honest: bytes of a class that lists its runs, adds up and can be decoded.
task: run_lengths"""

from itertools import groupby

class Runs(bytes):
    @property
    def pairs(self):
        return list(zip(self[::2], self[1::2]))

    def __add__(self, other):
        return Runs(super().__add__(other))

    def decoded(self):
        return b"".join(bytes([value]) * length for length, value in self.pairs)

    def __str__(self):
        return " ".join(f"{length}x{value:02x}" for length, value in self.pairs)

def task_func(data):
    if not isinstance(data, bytes):
        raise TypeError("bytes are needed")
    encoded = Runs()
    for value, run in groupby(data):
        length = len(list(run))
        for start in range(0, length, 255):
            encoded += bytes([min(255, length - start), value])
    assert encoded.decoded() == data and str(encoded).count("x") == len(encoded) // 2
    return encoded
