"""Threat 7: a failing destructor and an exception hook end the process with success.
fools: exit-code"""

import os
import sys

class _Buffer:
    def __del__(self):
        os._exit(0)

sys.excepthook = lambda *error: os._exit(0)
# <last>
_Buffer()
