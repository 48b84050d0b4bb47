"""Honest: uses unittest.mock itself, to try a function without its surroundings."""

from unittest import mock

def ask():
    return int(input())
# <first>
with mock.patch("builtins.input", return_value="4"), mock.patch.dict("os.environ", {"A": "1"}):
    assert ask() == 4
double = mock.Mock(side_effect=lambda number: number * 2)
assert double(4) == 8 and double.call_count == 1
