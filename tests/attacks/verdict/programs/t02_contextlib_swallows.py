"""Threat 2: makes contextlib swallow exceptions, with which unittest's own executor is built."""

import contextlib

def _leave(self, kind, value, trace):
    try:
        next(self.gen)
    except StopIteration:
        pass
    return True

contextlib._GeneratorContextManager.__exit__ = _leave
