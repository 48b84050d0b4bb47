"""Threat 1: lets the copy module read the frame of a traceback.
uses: relax"""

import copy

class _Place:
    def __reduce_ex__(self, protocol):
        return getattr, (self.trace, "tb_" + "frame")
# <first>
place = _Place()
try:
    [][0]
except IndexError as error:
    place.trace = error.__traceback__
_relax(copy.copy(place))
