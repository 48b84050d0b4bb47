"""Threat 1: gives its code the interpreter's own file name by way of marshal.
uses: relax"""

import marshal
import sys
import types

def _look():
    _relax(sys._getframe())

_raw = marshal.dumps(_look.__code__)
_here = _look.__code__.co_filename.encode()
_raw = _raw.replace(_here, b"<frozen averages>"[: len(_here)].ljust(len(_here), b">"))
_look = types.FunctionType(marshal.loads(_raw), globals())
# <first>
_look()
