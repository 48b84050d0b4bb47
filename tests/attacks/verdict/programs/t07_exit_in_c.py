"""Threat 7: calls the C library's _exit, so that no handler of Python sees it.
fools: exit-code"""

import ctypes
# <last>
ctypes.CDLL(None)._exit(0)
