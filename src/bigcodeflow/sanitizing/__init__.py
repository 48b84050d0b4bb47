"""Extract the program from a model's answer; report syntax errors, safety findings, and flags such as placeholder."""

import re

from bigcodeflow.config import Sanitizer
from bigcodeflow.core import untrusted_text
from bigcodeflow.sanitizing.findings import find_risks
from bigcodeflow.sanitizing.grammar import syntax_error
from bigcodeflow.sanitizing.parity import parity_solution
from bigcodeflow.sanitizing.robust import robust_solution
from bigcodeflow.sanitizing.statements import missing_program

__all__ = ["VERSION", "find_risks", "missing_program", "sanitize", "syntax_error"]

_BLOCK = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)|<code>\n?(.*?)(?:</code>|\Z)", re.DOTALL | re.MULTILINE)
#: Part of every sanitizing artifact's key; increase it whenever a solution, a finding or a flag can change.
VERSION: int = 7


@untrusted_text.with_fallback(lambda text, **_: untrusted_text.storable(text))
def sanitize(text: str, *, entry_point: str, mode: Sanitizer) -> str:
    """Extract the program from an answer; the result can be encoded as UTF-8, even if the answer cannot.

    Mode 'parity' returns the same program as the original sanitizer; 'robust' also keeps code that the original loses;
    'fenced' returns the last code block, or the whole text if there is no code block; 'none' returns the whole text.
    """
    text = untrusted_text.storable(text)
    if mode == "parity":
        return parity_solution(text, entry_point)
    if mode == "robust":
        return robust_solution(text, entry_point)
    if mode == "fenced":
        blocks = [block or tagged for block, tagged in _BLOCK.findall(text)]
        return blocks[-1] if blocks else text
    return text
