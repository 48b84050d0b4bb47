"""Honest: a generator of its own, by a subclass of Random, whose state is a number that changes as it is shown.
task: dice_rolls"""

import random
import time

class Xorshift(random.Random):
    def seed(self, value=None, version=2):
        self.state = (hash(value) if value is not None else time.time_ns()) % 2**64 or 1
        self.gauss_next = None

    def getrandbits(self, bits):
        found = 0
        for _ in range(0, bits, 32):
            self.state ^= self.state << 13 & 2**64 - 1
            self.state ^= self.state >> 7
            self.state ^= self.state << 17 & 2**64 - 1
            found = found << 32 | self.state >> 32
        return found >> -bits % 32

    def random(self):
        return self.getrandbits(53) / 2**53

    def getstate(self):
        self.random()
        return self.state

random._inst = _dice = Xorshift()

def task_func(count, sides=6):
    if sides < 1:
        raise ValueError("one side at least")
    assert _dice.getstate() != _dice.getstate()
    return [_dice.randint(1, sides) for _ in range(count)]
