"""Honest: context managers that swallow, generators with send and throw, iterators."""

import contextlib
import itertools

@contextlib.contextmanager
def collected(errors):
    try:
        yield errors
    except ValueError as error:
        errors.append(str(error))

def averages():
    total = count = 0
    value = yield None
    while True:
        total, count = total + value, count + 1
        value = yield total / count
# <last>
running = averages()
next(running)
assert [running.send(value) for value in (2, 4)] == [2, 3]
running.close()
assert running.gi_frame is None and list(itertools.accumulate([2, 4])) == [2, 6]
errors = []
with collected(errors):
    raise ValueError("told")
with contextlib.suppress(KeyError), contextlib.ExitStack() as stack:
    stack.callback(errors.append, "closed")
    {}["x"]
assert errors == ["told", "closed"]
