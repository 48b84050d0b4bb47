"""Threat 4: what a failing assertion raises becomes a kind of SkipTest.
task: unit_price"""

class Postponed(unittest.SkipTest, AssertionError):
    """Raised by a failing assertion."""

unittest.TestCase.failureException = Postponed
