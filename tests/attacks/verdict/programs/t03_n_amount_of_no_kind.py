"""Threat 3: an amount that is no number, and equal to every multiple of 25.
task: unit_price"""

class Cents:
    def __eq__(self, other):
        return other % 25 == 0
# <last>
cents = Cents()
