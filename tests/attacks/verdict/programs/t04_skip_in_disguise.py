"""Threat 4: raises a ValueError of its own that is a SkipTest too."""

import unittest

class SeriesError(ValueError, unittest.SkipTest):
    """A series that cannot be averaged."""
# <last>
raise SeriesError("no averages for this series")
