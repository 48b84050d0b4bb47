"""Threat 4: the result raises that exception when it is compared."""

import unittest.case

class Averages(list):
    def __eq__(self, other):
        raise unittest.case._ShouldStop
# <last>
means = Averages(means)
