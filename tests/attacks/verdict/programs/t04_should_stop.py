"""Threat 4: raises the exception with which unittest ends a subtest: it is noted nowhere.
task: unit_price"""

import unittest.case
# <last>
raise unittest.case._ShouldStop
