"""Honest: a frozen dataclass with slots is made for the names of each text.
task: settings_object"""

import dataclasses
# <last>
cls = dataclasses.make_dataclass("Settings", list(settings), frozen=True, slots=True, kw_only=True, eq=False)
SimpleNamespace = cls
assert not hasattr(cls(**settings), "__dict__")
