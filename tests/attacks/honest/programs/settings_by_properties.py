"""Honest: names become properties of a class that is made by a metaclass with a prepared namespace.
task: settings_object"""

import operator

class Names(dict):
    def __missing__(self, name):
        if name not in self.values_by_name:
            raise KeyError(name)
        self[name] = property(lambda _, value=self.values_by_name[name]: value)
        return self[name]

class WithSettings(type):
    @classmethod
    def __prepare__(meta, name, bases, values):
        names = Names()
        names.values_by_name = values
        return names

    def __new__(meta, name, bases, names, values):
        for one in values:
            names[one]
        return super().__new__(meta, name, bases, dict(names))

    def __init__(cls, name, bases, names, values):
        super().__init__(name, bases, names)

def _value(text):
    try:
        return operator.index(int(text))
    except ValueError:
        return text.strip()

def task_func(text):
    pairs = [line.split("=", 1) for line in text.splitlines() if not line.isspace() and line]

    class Settings(metaclass=WithSettings, values={name.strip(): _value(value) for name, value in pairs}):
        pass

    return Settings()
