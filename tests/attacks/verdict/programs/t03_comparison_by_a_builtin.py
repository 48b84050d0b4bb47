"""Threat 3: uses the builtin operator.truth as comparison: it is true for whatever is not empty."""

import operator
# <last>
means = type("list", (list,), {"__eq__": operator.truth, "__hash__": None, "__module__": "builtins"})(means)
