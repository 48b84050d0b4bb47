"""Read texts of other authors, such as a model's answer, so that no text can end a run.

Some texts keep Python's parser busy for minutes, others need a kilobyte of memory per character; the parser is not
safe to use from two threads, and no thread can stop it. So large texts are read in a separate process, within limits.
"""

import ast
import logging
import math
import pickle
import re
import resource
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial, wraps
from io import BufferedIOBase
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

#: Limit of one line of a JSONL file: the largest permitted program, escaped, has 12 MiB at worst.
MOST_LINE_BYTES = 16 << 20
#: Limit of one text of a task, such as its test. BigCodeBench's longest has 15,000. The parser needs at worst 0.8 s
#: and 180 MiB for this many, so that any process may parse such texts itself.
MOST_TEST_CHARACTERS = 200_000
#: Limit of a program, or of an answer that holds it; about the longest answer of a model. See `call_in_child`.
MOST_PROGRAM_CHARACTERS = 1_000_000
#: Most characters that ``parse`` accepts in this process.
MOST_PARSED: ContextVar[int] = ContextVar("MOST_PARSED", default=MOST_TEST_CHARACTERS)
#: Limits of one call of `call_in_child`, in addition to what its process used before the call.
CPU_SECONDS = 20
MEMORY_MIB = 1024

logger = logging.getLogger(__name__)

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_NO_MEMORY = 3  # exit status
# A cached result keeps its text alive: thousands of larger ones would fill the memory.
_MOST_REMEMBERED_CHARACTERS = 20_000
_MOST_REMEMBERED_TEXTS = 4096

#: Errors that Python's parser and compiler raise for a text that they do not accept.
REFUSALS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)

# Python 3.11 keeps the tree's depth and the warning filters once for all threads.
_PARSING = threading.Lock()

# The parser copies a dotted name once for each of its parts, and reads a string from its start for each of its
# fields: a million characters of these take minutes, other texts of this length take seconds.
_MOST_PARTS = 10_000
_MOST_FIELD_CHARACTERS = 1_000_000_000
_DOTTED = re.compile(r"\w++(?:[\s\\]*+\.[\s\\]*+\w++)++")
_STRING = re.compile(
    r"""\\.|\#[^\n]*+|'''(?>(?:\\.|(?!''')[^\\])*)'''|\"""(?>(?:\\.|(?!\""")[^\\])*)\"""|'(?:\\.|[^\\\n'])*+'|"(?:\\.|[^\\\n"])*+\"""",
    re.DOTALL,
)


class TooLargeError(ValueError):
    """Error for a text that is not parsed, since the parser would need minutes or gigabytes."""


def require_size(text: str, most: int, what: str) -> None:
    """Raise TooLargeError if a text has more than ``most`` characters; ``what`` is its kind, such as 'a program'."""
    if len(text) > most:
        raise TooLargeError(f"too long to parse: {len(text):,} characters; the limit of {what} is {most:,} characters")


def lines_of(file: BufferedIOBase) -> Iterator[tuple[int, bytes]]:
    """Yield a JSONL file's lines with their numbers (1-based); raise TooLargeError for a line over MOST_LINE_BYTES.

    The byte order mark that Windows editors write at the start of files is removed, as json refuses it.
    """
    for number, line in enumerate(iter(partial(file.readline, MOST_LINE_BYTES + 1), b""), start=1):
        if len(line) > MOST_LINE_BYTES:
            raise TooLargeError(f"line {number} is longer than {MOST_LINE_BYTES >> 20} MiB, the limit of a line")
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def remembered(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
    """Decorate a function that takes a text, so that its results for small texts are cached."""
    kept = lru_cache(maxsize=_MOST_REMEMBERED_TEXTS)(function)

    @wraps(function)
    def found(text: str) -> _Result:
        return (function if len(text) > _MOST_REMEMBERED_CHARACTERS else kept)(text)

    return found


def storable(text: str) -> str:
    """Replace every lone surrogate in a text, since UTF-8 and therefore Parquet cannot store it.

    Such surrogates occur in answers that were cut inside an emoji, and in programs that spell them out.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def parse(text: str, *, feature_version: tuple[int, int] | None = None) -> ast.Module:
    """Parse a program within seconds, without emitting warnings, and return its syntax tree.

    Raises:
        TooLargeError: the text has more than MOST_PARSED characters, or the parser would take minutes.
        SyntaxError, ValueError, RecursionError, MemoryError: see REFUSALS.
    """
    require_size(text, MOST_PARSED.get(), "a text that is parsed here")
    if text.count(".") > _MOST_PARTS:
        for name in _DOTTED.finditer(text):
            if name.end() - name.start() > 2 * _MOST_PARTS and name[0].count(".") > _MOST_PARTS:
                raise TooLargeError(f"too complex to parse: a dotted name of more than {_MOST_PARTS:,} parts")
    if text.count("{") * len(text) > _MOST_FIELD_CHARACTERS:
        for string in _STRING.finditer(text):
            if string[0].count("{") * len(string[0]) > _MOST_FIELD_CHARACTERS:
                raise TooLargeError("too complex to parse: a long string with too many braces")
    with parser():
        return ast.parse(text, feature_version=feature_version)


@contextmanager
def parser() -> Iterator[None]:
    """Let only this thread use Python's parser and compiler inside a with block, and suppress their warnings."""
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def nodes_of(text: str) -> list[ast.AST]:
    """Return all nodes of a program's syntax tree, in the order of ast.walk; empty if the text cannot be parsed."""
    with suppress(*REFUSALS):
        return list(ast.walk(parse(text)))
    return []


def with_fallback(fallback: Callable[..., _Result]) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Decorate a function that reads a text: if it raises an exception, call ``fallback`` with the same arguments.

    Expected parse errors are handled where they occur. An unexpected error must not end the run for all other samples.
    """

    def within(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        @wraps(function)
        def guarded(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - one unforeseen text must not end the run
                sizes = ", ".join(f"{len(text):,}" for text in args if isinstance(text, str))
                problem = f"{type(error).__name__}: {error}"[:200]
                logger.warning("%s failed for a text of %s characters: %s", function.__qualname__, sizes, problem)
                return fallback(*args, **kwargs)

        return guarded

    return within


def call_in_child(function: Callable[_Given, _Result], *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
    """Call a module-level function in a child process that may parse MOST_PROGRAM_CHARACTERS; return the result.

    Raise TooLargeError if the call needs more than CPU_SECONDS or MEMORY_MIB, CalledProcessError if the call fails.
    """
    given = pickle.dumps((function, args, kwargs))
    # Without -P a module in the current folder could replace one of the standard library.
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve_one_call; serve_one_call()"]
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=False)
    if done.returncode < 0 or done.returncode == _NO_MEMORY:
        bounds = f"{CPU_SECONDS} s of CPU time or {MEMORY_MIB:,} MiB of memory"
        raise TooLargeError(f"too complex to parse: took more than {bounds}")
    done.check_returncode()
    return cast("_Result", pickle.loads(done.stdout))  # noqa: S301 - written by the function below


def serve_one_call() -> None:
    """Perform the call of `call_in_child`: read it pickled from standard input, write its result to standard output."""
    function, args, kwargs = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the function above
    if sys.platform == "linux":  # others do not enforce it
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        memory = pages * resource.getpagesize() + (MEMORY_MIB << 20)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    seconds = math.ceil(time.process_time()) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    MOST_PARSED.set(MOST_PROGRAM_CHARACTERS)
    try:
        found = pickle.dumps(function(*args, **kwargs))
    except MemoryError:
        sys.exit(_NO_MEMORY)
    except Exception as error:  # noqa: BLE001 - the boundary of a process
        sys.exit(f"{type(error).__name__}: {error}"[:200])
    sys.stdout.buffer.write(found)
