"""Threat 1: lets a mock call for the frame.
uses: relax"""

import sys
from unittest import mock
# <first>
_relax(mock.Mock(side_effect=sys._getframe)(1))
