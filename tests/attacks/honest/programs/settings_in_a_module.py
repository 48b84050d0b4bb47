"""Honest: settings are a module that is made for them, with a function for absent names.
task: settings_object"""

import types

class Settings(types.ModuleType):
    def __dir__(self):
        return sorted(name for name in vars(self) if not name.startswith("_"))

def _parsed(text):
    for line in text.splitlines():
        if line.strip():
            name, value = map(str.strip, line.split("=", 1))
            try:
                yield name, int(value)
            except ValueError:
                yield name, value

def task_func(text):
    settings = Settings("settings", "Settings of the user.")
    vars(settings).update(_parsed(text))

    def __getattr__(name):
        raise AttributeError(f"no setting {name}; there are {dir(settings)}")

    settings.__getattr__ = __getattr__
    return settings
