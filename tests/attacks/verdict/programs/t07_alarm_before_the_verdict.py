"""Threat 7: an interval timer ends the process with success.
fools: exit-code"""

import os
import signal
import time
# <first>
signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(5)
