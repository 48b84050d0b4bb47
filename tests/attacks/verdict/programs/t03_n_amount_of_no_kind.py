"""Threat 3: an amount that is no number, and equal to every multiple of 25.
task: unit_price
through: an object of a class of its own cannot pass between two processes, and no near miss is a multiple of 25"""

class Cents:
    def __eq__(self, other):
        return other % 25 == 0
# <last>
cents = Cents()
