"""Threat 4: raises SkipTest where the answer should be."""

import unittest
# <last>
raise unittest.SkipTest("no averages for this series")
