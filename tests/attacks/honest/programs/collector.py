"""Honest: the collector switched off, watched and frozen, reports of objects and memory, finalizers, exit handlers."""

import atexit
import gc
import sys
import tracemalloc
import weakref
from collections import Counter

collections, closed = [], []
atexit.register(print, "goodbye")
gc.callbacks.append(lambda phase, info: collections.append((phase, info["generation"])))
gc.freeze()
gc.set_threshold(100, 5, 5)

class Node:
    alive = weakref.WeakSet()

    def __init__(self):
        self.itself = self
        Node.alive.add(self)
        weakref.finalize(self, closed.append, "finalized")

    def __del__(self):
        closed.append("deleted")
# <first>
gc.disable()
tracemalloc.start()
nodes = [Node() for _ in values]
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
referrers = {type(one).__name__ for one in gc.get_referrers(nodes[0])}
by_type = Counter(type(one).__name__ for one in gc.get_objects())
texts = Counter(repr(type(one)) for one in gc.get_objects(generation=2)[:5000])
largest = max((one for one in gc.get_objects() if isinstance(one, (list, dict))), key=sys.getsizeof)
assert len(Node.alive) == by_type["Node"] == len(values) and "list" in referrers
assert peak > 0 and len(texts) + len(largest) > 0 and sys.getrefcount(task_func) > 1
# <last>
before, seen = len(collections), weakref.ref(nodes[0])
del nodes
assert gc.collect() >= len(values) and not Node.alive and len(collections) >= before + 2
gc.enable()
assert gc.get_freeze_count() > 0 and gc.isenabled() and not seen() and set(closed) == {"finalized", "deleted"}
