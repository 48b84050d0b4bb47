"""Sanitizing: the program in a model's answer, and its syntax errors, safety findings and marks before it runs.

`sanitize` takes the program out of one text, `sanitize_samples` is the stage.
"""

from bigcodeflow.sanitizing.findings import BLOCKED_RULES, find_risks
from bigcodeflow.sanitizing.grammar import syntax_error
from bigcodeflow.sanitizing.samples import sanitize, sanitize_samples
from bigcodeflow.sanitizing.statements import omitted_setup, placeholder

#: Bump to invalidate artifacts: whenever a solution, a finding or a mark can come out differently.
VERSION: int = 3

__all__ = [
    "BLOCKED_RULES",
    "VERSION",
    "find_risks",
    "omitted_setup",
    "placeholder",
    "sanitize",
    "sanitize_samples",
    "syntax_error",
]
