"""Threat 3: the comparison is another library's object: no function of the program compares."""

from unittest import mock

class Averages(list):
    __eq__ = mock.Mock(return_value=True)
# <last>
means = Averages(means)
