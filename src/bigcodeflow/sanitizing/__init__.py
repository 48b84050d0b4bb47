"""Sanitizing: the program in a model's answer, and what can be said about it before it runs.

`sanitize` takes the program out of one text, `sanitize_samples` is the stage.
"""

from bigcodeflow.sanitizing.findings import BLOCKED_RULES, Finding, find_risks
from bigcodeflow.sanitizing.laziness import omitted_setup, placeholder
from bigcodeflow.sanitizing.samples import sanitize, sanitize_samples
from bigcodeflow.sanitizing.syntax import syntax_error

#: Bump to invalidate artifacts: whenever a solution, a finding or a mark can come out differently.
VERSION: int = 3

__all__ = [
    "BLOCKED_RULES",
    "VERSION",
    "Finding",
    "find_risks",
    "omitted_setup",
    "placeholder",
    "sanitize",
    "sanitize_samples",
    "syntax_error",
]
