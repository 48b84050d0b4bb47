"""Honest: atexit, weakref.finalize and destructors."""

import atexit
import gc
import weakref


class Resource:
    closed = []

    def __init__(self, name):
        self.name = name
        weakref.finalize(self, Resource.closed.append, name)

    def __del__(self):
        Resource.closed.append("del " + self.name)


# <first>
atexit.register(print, "goodbye")
Resource.closed.clear()
resource = Resource("x")
seen = weakref.ref(resource)
del resource
gc.collect()
assert seen() is None and sorted(Resource.closed) == ["del x", "x"]
