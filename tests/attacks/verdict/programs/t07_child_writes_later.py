"""Threat 7: a child with a session of its own outlives the tests and writes success into every pipe.
fools: exit-code"""

import os
import time

def _detach():
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.3)
        for number in range(3, 32):
            try:
                os.write(number, b"pass")
            except OSError:
                continue
        os._exit(0)

_detach()
# <last>
os._exit(0)
