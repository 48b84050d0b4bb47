"""Read a traceback's text: its last exception, a failed import, the lines of the executed program."""

import builtins
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import NamedTuple

#: First line of a traceback.
HEAD = "Traceback (most recent call last):"
#: Lines between the tracebacks of a chain.
CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_OWN_FRAME = re.compile(r'  File "__test__\.py", line (?P<line>\d{1,9}), in (?P<function>.*)')
_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(?::\s?(?P<message>.*))?")
_MISSING = re.compile(r"No module named '([\w.]+)'")
#: Exceptions of libraries, mapped to the built-in class that they count as.
_FOREIGN: Mapping[str, type[BaseException]] = {
    **dict.fromkeys(("UFuncTypeError", "_UFuncNoLoopError", "_UFuncBinaryResolutionError"), TypeError),
    **dict.fromkeys(("_UFuncInputCastingError", "_UFuncOutputCastingError", "DTypePromotionError"), TypeError),
    "FrozenInstanceError": AttributeError,
    "_ArrayMemoryError": MemoryError,
}
#: Class of an exception by the wording of its message: the original records a failed module's message only.
_MESSAGES: tuple[tuple[re.Pattern[str], type[BaseException]], ...] = (
    (_MISSING, ModuleNotFoundError),
    (re.compile(r"cannot import name "), ImportError),
    (re.compile(r"name '\w+' is not defined"), NameError),
    (re.compile(r".*\((?:__test__\.py|<\w+>), line \d+\)$", re.DOTALL), SyntaxError),
    (re.compile(r"(?:module |type object )?'[\w.]+' (?:object )?has no attribute "), AttributeError),
)


class Raised(NamedTuple):
    """Classes of an exception, and the module that it reports as missing."""

    exception: str
    """Names of the exception's class and base classes, separated by blanks; empty if the text does not show them."""
    missing_module: str
    """Name of the module that could not be found; empty for every other exception."""


class Frame(NamedTuple):
    """Frame of a traceback that belongs to the executed text, which consists of program and test."""

    line: int
    """Line number in the executed text, from 1."""
    function: str


def exception_line(trace: str) -> str:
    """Return the line of a traceback with the exception's class and the start of its message; empty if there is none.

    In a chain of tracebacks, the last one counts. A traceback quoted inside a message does not belong to the chain.
    """
    return next((line for line in _last_traceback(trace) if line and not line[0].isspace()), "")


def message(trace: str) -> str:
    """Return the first line of the exception's message; ``trace`` itself if it contains no traceback."""
    line = exception_line(trace)
    return line.partition(": ")[2] if line else trace


def own_frames(trace: str) -> list[Frame]:
    """Return the frames in program and test, the outermost first; frames in libraries are left out."""
    frames = takewhile(lambda line: not line or line[0].isspace(), _last_traceback(trace))
    found = (_OWN_FRAME.match(line) for line in frames)
    return [Frame(int(frame["line"]), frame["function"]) for frame in found if frame]


def failed_import(trace: str) -> str:
    """Return the missing module's name, or Python's message on another failed import; empty for other exceptions."""
    found = raised(trace)
    return (found.missing_module or message(trace)) if "ImportError" in found.exception.split() else ""


def _last_traceback(trace: str) -> list[str]:
    """Return the lines of the last traceback of a chain, without its first line; empty if the text has no traceback."""
    lines = trace.split("\n")
    heads = [number for number, line in enumerate(lines) if line == HEAD]
    chain = [number for number in heads if number == heads[0] or (number > 1 and lines[number - 2] in CHAINED)]
    return lines[chain[-1] + 1 :] if chain else []


def raised(text: str) -> Raised:
    """Return the exception that ``text`` shows; the text is a traceback, or only the message of an exception."""
    line = exception_line(text)
    named = _NAMED.fullmatch(line) if line else None
    bare = next((kind for pattern, kind in _MESSAGES if pattern.match(text)), None)
    kind = _class_of(named["name"]) if named else bare
    bases = [base.__name__ for base in kind.__mro__ if base is not object] if kind else []
    message = (named["message"] or "") if named else text
    missing = _MISSING.match(message) if kind and issubclass(kind, ModuleNotFoundError) else None
    return Raised(" ".join(bases), missing[1] if missing else "")


def _class_of(name: str) -> type[BaseException]:
    """Return the exception class for a class name from a traceback; Exception if the name is unknown."""
    last = name.rpartition(".")[2]
    if last in _FOREIGN:
        return _FOREIGN[last]
    known = getattr(builtins, name, None)
    return known if isinstance(known, type) and issubclass(known, BaseException) else Exception
