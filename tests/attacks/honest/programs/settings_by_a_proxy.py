"""Honest: settings are a weak proxy of an object that the program keeps, and that answers for every attribute.
task: settings_object"""

import weakref

_kept = {}

class Settings:
    def __init__(self, lines):
        object.__setattr__(self, "_values", {name.strip(): value.strip() for name, value in lines})

    def __getattribute__(self, name):
        values = object.__getattribute__(self, "_values")
        if name not in values:
            return object.__getattribute__(self, name)
        try:
            return int(values[name])
        except ValueError:
            return values[name]

    def __setattr__(self, name, value):
        raise TypeError("settings are constant")

def task_func(text):
    if text not in _kept:
        _kept[text] = Settings([line.split("=", 1) for line in text.splitlines() if line.strip()])
    return weakref.proxy(_kept[text])
