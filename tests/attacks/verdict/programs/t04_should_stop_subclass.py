"""Threat 4: raises a ValueError which is also that exception, without naming it."""

import unittest.case

_Base = next(one for one in Exception.__subclasses__() if one.__module__ == "unittest.case" and "Stop" in one.__name__)

class SeriesError(ValueError, _Base):
    """A series that cannot be averaged."""
# <last>
raise SeriesError("no averages for this series")
