"""Honest: reads random bytes of the kernel and drops those that would favour some sides.
task: dice_rolls"""

import os

def _bytes():
    with open("/dev/urandom", "rb", buffering=0) as source:
        while True:
            yield from source.read(64) + os.urandom(8)

def task_func(count, sides=6):
    if sides < 1:
        raise ValueError("one side at least")
    size = (sides.bit_length() + 7) // 8
    limit = 256**size // sides * sides
    stream, rolls = _bytes(), []
    while len(rolls) < count:
        number = int.from_bytes(bytes(next(stream) for _ in range(size)), "little")
        rolls += [number % sides + 1] if number < limit else []
    return rolls
