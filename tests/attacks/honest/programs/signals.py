"""Honest: handlers for signals, an alarm as a time limit, a signal raised at itself.
task: unit_price"""

import os
import signal
import time

class TooSlow(Exception):
    pass

def _alarm(number, frame):
    raise TooSlow(frame.f_lineno > 0)

def within_time(seconds):
    before = signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        time.sleep(seconds)
        return "done"
    except TooSlow:
        return "too slow"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
# <first>
assert (within_time(5), within_time(0)) == ("too slow", "done")
seen = []
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
signal.raise_signal(signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGUSR1)
assert seen == [signal.SIGUSR1] * 2
