"""Threat 3: the always-equal class is made by a call of type, in the function, and forgotten after it."""
# <last>
means = type("list", (list,), {"__eq__": lambda self, other: True, "__ne__": lambda self, other: False})(means)
