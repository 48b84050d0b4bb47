"""Threat 7: sends itself the signal to end, and has a handler that ends with success.
fools: exit-code"""

import os
import signal

signal.signal(signal.SIGTERM, lambda number, frame: os._exit(0))
# <last>
os.kill(os.getpid(), signal.SIGTERM)
