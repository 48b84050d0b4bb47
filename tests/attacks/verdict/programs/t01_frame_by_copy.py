"""Threat 1: lets the copy module call for the frame: a library is the one that asks.
uses: relax"""

import copy
import sys

class _Depth:
    def __reduce_ex__(self, protocol):
        return sys._getframe, (0,)
# <first>
_relax(copy.copy(_Depth()))
