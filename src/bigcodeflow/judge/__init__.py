"""The judge: a program and a test become a verdict that the program cannot forge.

It knows no pipeline and no store, and imports none of their libraries. ``Judge``, ``Task`` and ``check`` are those of
:mod:`bigcodeflow.judge.judging`, imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bigcodeflow.judge.judging import Judge, Task, check

__all__ = ["Judge", "Task", "check"]


def __getattr__(name: str) -> Any:
    # Whoever needs one module of the judge does not pay for all.
    if name in __all__:
        return getattr(import_module("bigcodeflow.judge.judging"), name)
    raise AttributeError(f"module 'bigcodeflow.judge' has no attribute {name!r}")
