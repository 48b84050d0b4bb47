"""Threat 1: walks the frames from the function up to the test result and turns failures into successes.
uses: relax"""

import sys
# <first>
frame = sys._getframe()
_relax(frame)
