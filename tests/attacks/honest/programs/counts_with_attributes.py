"""Honest: counts can be read as attributes as well, changes are noticed by observers, absent letters count 0 there.
task: letter_counts"""

class Watched(dict):
    def __init__(self, *observers):
        self.__dict__["observers"] = observers

    def __setitem__(self, key, value):
        for observer in self.observers:
            observer(key, value)
        super().__setitem__(key, value)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name, 0)

    __setattr__ = __setitem__
    __delattr__ = dict.__delitem__

def task_func(text):
    changes = []
    counts = Watched(lambda *change: changes.append(change))
    for sign in text.lower():
        if sign.isalpha():
            counts[sign] = getattr(counts, sign) + 1
    assert len(changes) == sum(counts.values())
    return counts
