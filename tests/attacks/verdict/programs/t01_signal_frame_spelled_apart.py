"""Threat 1: walks from a signal handler's frame by names that it puts together at run time.
uses: spelled"""

import signal

signal.signal(signal.SIGUSR1, lambda number, frame: _relax(frame))
# <first>
signal.raise_signal(signal.SIGUSR1)
