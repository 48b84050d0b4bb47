"""Threat 1: lets functools call for the frame.
uses: relax"""

import functools
import sys

class _Depth(int):
    frame = functools.cached_property(sys._getframe)
# <first>
_relax(_Depth(1).frame)
