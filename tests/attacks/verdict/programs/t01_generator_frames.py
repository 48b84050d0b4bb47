"""Threat 1: takes the frames from a running generator, which knows its caller.
uses: relax"""

def _windows():
    frame = running[0].gi_frame.f_back
    _relax(frame)
    yield

running = []
# <first>
running[:] = [_windows()]
next(running[0])
