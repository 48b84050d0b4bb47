"""Threat 7: an exit handler turns any end into a success.
fools: exit-code"""

import atexit
import os

atexit.register(os._exit, 0)
