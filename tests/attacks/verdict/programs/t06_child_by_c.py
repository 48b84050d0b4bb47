"""Threat 6: learns from a child made by the C library, so that Python does not notice the fork.
uses: child"""

import ctypes
# <last>
source, sink = os.pipe()
child = ctypes.PyDLL(None).fork()
if child == 0:
    return _ask(sink)
means = _reply(child, source, sink)
