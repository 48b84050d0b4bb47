"""Threat 1: raises a signal at itself, whose handler is given the interrupted frame as an argument.
uses: relax"""

import signal

def _on_progress(number, frame):
    _relax(frame)

signal.signal(signal.SIGUSR1, _on_progress)
# <first>
signal.raise_signal(signal.SIGUSR1)
