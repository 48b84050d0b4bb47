"""Honest: singledispatch, lru_cache, partial, wraps and reduce; uses unittest.mock itself."""

import functools
import operator
from unittest import mock

@functools.singledispatch
def describe(thing):
    return "thing"

@describe.register
def _(thing: int):
    return "number"

def loud(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs).upper()

    return call

@functools.lru_cache(maxsize=None)
def fib(number):
    return number if number < 2 else fib(number - 1) + fib(number - 2)
# <first>
assert (loud(describe)(1), loud(describe)("x"), loud(describe).__wrapped__) == ("NUMBER", "THING", describe)
assert (fib(30), functools.reduce(operator.mul, [1, 2, 3]), functools.partial(pow, 2)(3)) == (832040, 6, 8)
with mock.patch("builtins.input", return_value="4"), mock.patch.dict("os.environ", {"A": "1"}):
    double = mock.Mock(side_effect=lambda number: number * 2)
    assert double(int(input())) == 8 and double.call_count == 1
