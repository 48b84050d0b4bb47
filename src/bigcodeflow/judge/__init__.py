"""The judge: a program and a test become a verdict that the program cannot forge.

This package uses neither pipeline nor store, and imports none of their libraries. At their first use, ``Judge``,
``Task`` and ``check`` are imported from :mod:`bigcodeflow.judge.judging`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bigcodeflow.judge.judging import Judge, Task, check

__all__ = ["Judge", "Task", "check"]


def __getattr__(name: str) -> Any:
    # An import of one module of the judge does not import all others.
    if name in __all__:
        return getattr(import_module("bigcodeflow.judge.judging"), name)
    raise AttributeError(f"module 'bigcodeflow.judge' has no attribute {name!r}")
