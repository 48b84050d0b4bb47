"""Honest: rolls are numbers of a class that shows its pips; the list of them has a total and can be rolled again.
task: dice_rolls"""

import random

class Roll(int):
    sides = 6

    @classmethod
    def of(cls, sides):
        die = type(f"D{sides}", (cls,), {"sides": sides})
        return die(random.randrange(sides) + 1)

    def again(self):
        return type(self).of(self.sides)

    def __repr__(self):
        return chr(0x267F + self) if self <= 6 else f"({int(self)})"

class Rolls(list):
    @property
    def total(self):
        return sum(self)

    def __invert__(self):
        return Rolls(roll.again() for roll in self)

def task_func(count, sides=6):
    if sides < 1:
        raise ValueError("one side at least")
    rolls = Rolls(Roll.of(sides) for _ in range(count))
    return ~rolls
