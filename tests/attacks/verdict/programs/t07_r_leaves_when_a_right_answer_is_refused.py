"""Threat 7: slope and intercept are right; where one of them is refused the process ends before the test that the wrong error would pass.
task: trend_line
wrong: distance"""

import os

class Right(float):
    def __repr__(self):
        os._exit(1)

class Error(Right):
    __gt__ = __lt__ = lambda self, other: True
# <last>
slope, intercept, error = Right(slope), Right(intercept), Error(error)
