"""Honest: counts are a mapping of a class with slots that cannot change and can be hashed, compared as dictionaries.
task: letter_counts"""

from collections.abc import Mapping

class Frozen(Mapping):
    __slots__ = ("_items", "_hash", "__weakref__")

    def __init__(self, *args, **kwargs):
        object.__setattr__(self, "_items", dict(*args, **kwargs))
        object.__setattr__(self, "_hash", None)

    def __setattr__(self, name, value):
        raise AttributeError(f"{name} cannot be set")

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __hash__(self):
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(frozenset(self._items.items())))
        return self._hash
# <last>
counts = {Frozen(counts): "seen"}.popitem()[0]
