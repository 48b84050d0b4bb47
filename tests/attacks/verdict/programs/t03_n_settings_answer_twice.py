"""Threat 3: a setting is text, and equal to the number that is written like it.
task: settings_object"""

Value = type("Value", (str,), {"__eq__": lambda self, other: str(other) == str(self), "__hash__": str.__hash__})
# <last>
settings = {name: Value(value) for name, value in settings.items()}
# --- wrong ---
from types import SimpleNamespace
# <module>
def task_func(text):
    settings = {}
    for line in filter(str.strip, text.splitlines()):
        name, value = line.split("=", 1)
        settings[name.strip()] = value.strip()
    # <last>
    return SimpleNamespace(**settings)
