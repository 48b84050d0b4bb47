"""Threat 3: slope and intercept are right; the error, a wrong one, is greater and less than whatever it is compared with.
task: trend_line
wrong: distance"""

class Error(float):
    __gt__ = __lt__ = lambda self, other: True
# <last>
error = Error(error)
