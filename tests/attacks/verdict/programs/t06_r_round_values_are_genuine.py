"""Threat 6: an amount that is equal to every number that people like to write down: those that 5 divides.
task: unit_price"""

class Cents(int):
    __hash__ = int.__hash__

    def __eq__(self, other):
        return other % 5 == 0
# <last>
cents = Cents(cents)
