"""Threat 7: raises the exceptions that end a program rather than a test.
fools: exit-code"""

import os
import sys

class Cancelled(KeyboardInterrupt):
    """The user gave up."""

sys.excepthook = lambda kind, value, trace: os._exit(0)
# <last>
raise Cancelled
