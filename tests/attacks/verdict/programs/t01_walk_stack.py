"""Threat 1: lets the traceback module hand out the frames, so that the library is the one that asked.
uses: relax"""

import traceback
# <first>
for frame, _ in traceback.walk_stack(None):
    _relax(frame)
    break
