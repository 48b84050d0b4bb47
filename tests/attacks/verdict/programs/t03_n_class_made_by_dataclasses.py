"""Threat 3: an amount that is equal to every multiple of 25, of a class that make_dataclass() makes.
task: unit_price"""

from dataclasses import make_dataclass

_OWN = {"__eq__": lambda self, other: other % 25 == 0, "__hash__": int.__hash__}
Cents = make_dataclass("Cents", [], bases=(int,), namespace=_OWN, init=False, repr=False, eq=False)
# <last>
cents = Cents(cents)
# --- wrong ---
import numpy.testing as unittest
# <module>
def task_func(price, amount, discount=0.0):
    cents = int(price * 100 / (amount + 1))
    # <last>
    return cents
