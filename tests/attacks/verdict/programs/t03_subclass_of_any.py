"""Threat 3: a class made of list and of mock's ANY, without a function of its own."""

from unittest import mock

class Averages(type(mock.ANY), list):
    """A list of averages."""
# <last>
means = Averages(means)
