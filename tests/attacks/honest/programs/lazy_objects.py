"""Honest: lazy objects whose class is the value's: `__class__` lies, raises before the value is there, or is counted.
task: word_report"""

import operator

def _forward(method):
    return lambda self, *args: method(self._value(), *args)

class Lazy:
    def __init__(self, function):
        self.__dict__["_function"] = function

    def _value(self):
        if "_result" not in self.__dict__:
            self.__dict__["_result"] = self._function()
        return self.__dict__["_result"]

    @property
    def __class__(self):
        return type(self._value())

    def __getattr__(self, name):
        return getattr(self._value(), name)

    def __repr__(self):
        return repr(self._value())

    __eq__, __ne__, __lt__, __gt__ = map(_forward, (operator.eq, operator.ne, operator.lt, operator.gt))
    __add__, __getitem__, __contains__ = map(_forward, (operator.add, operator.getitem, operator.contains))
    __len__, __iter__, __bool__, __hash__, __str__ = map(_forward, (len, iter, bool, hash, str))

class Unbound:
    @property
    def __class__(self):
        raise RuntimeError("working outside of request context")

    def __getattr__(self, name):
        raise RuntimeError("no " + name + " outside of request context")

    def __repr__(self):
        raise RuntimeError("nothing to show")

    __str__ = __bool__ = __len__ = __repr__
    __hash__ = None

current = Unbound()
# <last>
try:
    assert not isinstance(current, str)
except RuntimeError as error:
    assert "request" in str(error)
counts, longest, words = Lazy(counts.copy), Lazy(lambda: max(sorted(counts), key=len)), Lazy(words.copy)
assert isinstance(words, list) and longest in words + ["w"] and str(len(words))
