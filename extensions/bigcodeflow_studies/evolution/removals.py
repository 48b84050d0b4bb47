"""Read from an exception's message which module, name or argument a library lacks.

Messages quote untrusted programs, so they are read only as text, and only their first ``_LONGEST`` characters.
"""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from bigcodeflow.core.tracebacks import exception_line

Kind = Literal["module", "name", "argument"]

_LONGEST = 2_000
_EVIDENCE = 300
#: A value of these types that lacks an attribute is a mistake of the program, not a removal.
_PLAIN = frozenset("NoneType str bytes int float complex bool list tuple dict set range function method".split())  # noqa: SIM905 -- as a list it takes a screen
_MODULE = re.compile(r"No module named '(?P<name>[\w.]{1,200})'")
_IMPORT = re.compile(
    r"cannot import name '(?P<name>\w{1,200})' from (?:partially initialized module )?'(?P<owner>[\w.]{1,200})'"
)
_ATTRIBUTE = re.compile(
    r"(?:module '(?P<module>[\w.]{1,200})'|type object '(?P<type>[\w.]{1,200})'|'(?P<object>[\w.]{1,200})' object)"
    r" has no attribute '(?P<name>\w{1,200})'"
)
_PATCHED = re.compile(
    r"<(?:module '(?P<module>[\w.]{1,200})'[^>]*|class '(?P<type>[\w.]{1,200})')>"
    r" does not have the attribute '(?P<name>\w{1,200})'"
)
#: Calls that a function's signature refuses; ``name`` is a keyword argument's, empty for positional arguments.
_SIGNATURES = (
    re.compile(r"(?P<callee>[\w.]{1,200})\(\) got an unexpected keyword argument '(?P<name>\w{1,200})'"),
    re.compile(r"'(?P<name>\w{1,200})' is an invalid keyword argument for (?P<callee>[\w.]{1,200})"),
    re.compile(
        r"(?P<callee>[\w.]{1,200})\(\) (?:takes |missing \d+ required|got multiple values for argument"
        r"|got some positional-only arguments)(?P<name>)"
    ),
)
_WORDS = re.compile(
    r"\b(?:was|were|has been|have been|been|is|are) removed\b|\bno longer (?:supported|available|accept|exists?)\b"
    r"|\bis not supported (?:any ?more|since)\b|\bhas expired\b|\bare? deprecated and (?:was|has been) removed\b",
    re.IGNORECASE,
)
#: Subject of a sentence that _WORDS matches, in quotes or backquotes.
_QUOTED = re.compile(r"[`'\"](?P<name>[A-Za-z_][\w.\-= ]{0,80})[`'\"]")
_DOTTED = re.compile(r"[A-Za-z_]\w{0,80}(?:\.\w{1,80}){1,5}(?=[\s(])")
_FREQUENCY = re.compile(r"Invalid frequency: (?P<name>[\w-]{1,20})")
#: Warnings that a library or a test raises as exceptions.
_WARNINGS = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning", "MatplotlibDeprecationWarning")


class Removal(NamedTuple):
    """Module, name or argument that a library lacks, according to an exception's message."""

    kind: Kind
    name: str
    """Name such as numpy.float, DataFrame.append or read_csv(delim_whitespace=)."""
    owner: str
    """Module or type that lacks the name; empty if the message names neither."""
    of_module: bool = False
    """True if the owner is a module."""

    @property
    def last_part(self) -> str:
        """Last part of the name, such as p in TtestResult.p; the owner may have another name in older libraries."""
        return self.name.rpartition(".")[2]


def message_of(trace: str) -> str:
    """Return the exception's class and message, up to 2,000 characters; without an exception, the end of ``trace``."""
    line = exception_line(trace)
    if not line:
        return trace[-_LONGEST:]
    return trace[trace.rindex(line) :][:_LONGEST]


def evidence_of(trace: str) -> str:
    """Return the last traceback line: class and first line of the message, at most 300 characters."""
    parts = [part.strip() for part in message_of(trace).splitlines() if part.strip(" *")]  # without NLTK's rulers
    # If the message begins with a line break, the first line has the class alone: add the next line.
    return " ".join(parts[:2] if parts and parts[0].endswith(":") else parts[:1])[:_EVIDENCE]


def removal_in(trace: str, *, defined: Callable[[str], bool] = lambda _name: False) -> Removal | None:
    """Return the module, name or argument that a library lacks according to ``trace``; None if none is named.

    ``defined(name)`` tells if the program or its test defines this function or class, so that no library lacks it.
    """
    kind, _, text = message_of(trace).partition(": ")
    found = None
    match kind.rpartition(".")[2]:
        case "ModuleNotFoundError" | "ImportError":
            found = _missing_import(text)
        case "AttributeError":
            found = _missing_attribute(text, defined)
        case "TypeError":
            found = _changed_signature(text, defined)
        case name if name in _WARNINGS:
            return Removal("name", _subject(text), "")
    return found or (None if kind.endswith("AssertionError") else _said_to_be_removed(text))


def _missing_import(text: str) -> Removal | None:
    if name := _IMPORT.search(text):
        return Removal("name", f"{name['owner']}.{name['name']}", name["owner"], of_module=True)
    module = _MODULE.search(text)
    return Removal("module", module["name"], module["name"].rpartition(".")[0]) if module else None


def _missing_attribute(text: str, defined: Callable[[str], bool]) -> Removal | None:
    match = _ATTRIBUTE.match(text) or _PATCHED.match(text)
    if match is None:
        return None
    owner = match.groupdict().get("object") or match["type"] or match["module"]
    if owner.partition(".")[0] in ("__test__", "__main__"):
        return None
    if not match["module"] and (owner in _PLAIN or owner.endswith("Mock")):
        return None
    if not match["module"] and defined(owner):
        # A test's own class inherits its assertions from the standard library.
        is_assertion = match["name"].startswith(("assert", "fail"))
        return Removal("name", f"TestCase.{match['name']}", "unittest") if is_assertion else None
    return Removal("name", f"{owner}.{match['name']}", owner, of_module=bool(match["module"]))


def _changed_signature(text: str, defined: Callable[[str], bool]) -> Removal | None:
    match = next(filter(None, (one.match(text) for one in _SIGNATURES)), None)
    if match is None or defined(match["callee"].partition(".")[0]):
        return None
    callee, argument = match["callee"], f"{match['name']}=" if match["name"] else ""
    return Removal("argument", f"{callee}({argument})", callee.rpartition(".")[0].partition(".")[0])


def _said_to_be_removed(text: str) -> Removal | None:
    frequency = _FREQUENCY.match(text)
    if frequency:
        return Removal("argument", f"freq='{frequency['name']}'", "pandas", of_module=True)
    return Removal("name", _subject(text), "") if _WORDS.search(text) else None


def _subject(text: str) -> str:
    """Return the subject of a sentence: a dotted name at its start, its first quoted name or 60 characters."""
    if dotted := _DOTTED.match(text):
        return dotted[0]
    quoted = _QUOTED.search(text)
    return quoted["name"].strip() if quoted else " ".join(text.split())[:60]
