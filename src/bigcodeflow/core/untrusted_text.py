"""Texts that somebody else wrote, such as a model's answer: read so that none of them can end a run.

Python's parser is kept busy for minutes by some texts, takes a kilobyte of memory for a character of others, is not
safe to use from two threads, and no thread can stop it. So large texts are read in a process of its own, within limits.
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
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial, wraps
from io import BufferedIOBase
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

#: Of one line of a JSONL file: a program of the most characters, escaped, has 12 MiB at worst.
MOST_LINE_BYTES = 16 << 20
#: Of one text of a task, such as its test. BigCodeBench's longest has 15,000. The parser needs 0.8 s and 180 MiB for so
#: many at worst, so that they are read in any process.
MOST_TEST_CHARACTERS = 200_000
#: Of a program, or of an answer that holds one; about the most that a model may answer. See `read_apart`.
MOST_PROGRAM_CHARACTERS = 1_000_000
#: What ``parse`` takes in this process.
MOST_PARSED: ContextVar[int] = ContextVar("MOST_PARSED", default=MOST_TEST_CHARACTERS)
#: Of one call of `read_apart`, beyond what the process has used before it reads.
CPU_SECONDS = 20
MEMORY_MIB = 1024

logger = logging.getLogger(__name__)

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
_NO_MEMORY = 3  # exit status
# What is remembered of a text holds the text: thousands of larger ones would fill the memory.
_MOST_REMEMBERED_CHARACTERS = 20_000
_MOST_REMEMBERED_TEXTS = 4096

#: What Python's parser and compiler raise for a text that they do not take.
REFUSALS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)

# Python 3.11 counts a tree's depth, and the warnings to show, once for all threads.
_PARSING = threading.Lock()

# The parser copies a dotted name once for each of its parts, and reads a string from its start for each of its fields:
# a million characters of these take minutes, of anything else seconds.
_MOST_PARTS = 10_000
_MOST_FIELD_CHARACTERS = 1_000_000_000
_DOTTED = re.compile(r"\w++(?:[\s\\]*+\.[\s\\]*+\w++)++")
_STRING = re.compile(
    r"""\\.|\#[^\n]*+|'''(?>(?:\\.|(?!''')[^\\])*)'''|\"""(?>(?:\\.|(?!\""")[^\\])*)\"""|'(?:\\.|[^\\\n'])*+'|"(?:\\.|[^\\\n"])*+\"""",
    re.DOTALL,
)


class TooLargeError(ValueError):
    """A text that is not read, since that would take minutes or gigabytes."""


def require_size(text: str, most: int, what: str) -> None:
    """Refuse a text of more characters than ``what``, such as 'a program', may have."""
    if len(text) > most:
        raise TooLargeError(f"too large to be read: {len(text):,} characters, and {what} may have {most:,}")


def lines_of(file: BufferedIOBase) -> Iterator[tuple[int, bytes]]:
    """The lines of a JSONL file with their numbers (1-based); one of more than MOST_LINE_BYTES raises TooLargeError.

    The byte order mark that Windows editors start files with is left out, as json refuses it.
    """
    for number, line in enumerate(iter(partial(file.readline, MOST_LINE_BYTES + 1), b""), start=1):
        if len(line) > MOST_LINE_BYTES:
            raise TooLargeError(f"line {number} has more than the {MOST_LINE_BYTES >> 20} MiB that a line may have")
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def remembered(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
    """Decorate a function of one text: what it gives for small texts is kept for the next call."""
    kept = lru_cache(maxsize=_MOST_REMEMBERED_TEXTS)(function)

    @wraps(function)
    def found(text: str) -> _Result:
        return (function if len(text) > _MOST_REMEMBERED_CHARACTERS else kept)(text)

    return found


def storable(text: str) -> str:
    """The text with every lone surrogate replaced, which UTF-8 and so Parquet cannot hold.

    Answers that were cut inside an emoji have them, and so have programs that spell them out.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def parse(text: str, *, feature_version: tuple[int, int] | None = None) -> ast.Module:
    """The syntax tree of a program, without leaking warnings; it comes or is refused within seconds.

    Raises:
        TooLargeError: the text has more than MOST_PARSED characters, or the parser would take minutes.
        SyntaxError, ValueError, RecursionError, MemoryError: see REFUSALS.
    """
    require_size(text, MOST_PARSED.get(), "a text that is parsed here")
    if text.count(".") > _MOST_PARTS:
        for name in _DOTTED.finditer(text):
            if name.end() - name.start() > 2 * _MOST_PARTS and name[0].count(".") > _MOST_PARTS:
                raise TooLargeError(f"too large to be read: a name of more than {_MOST_PARTS:,} parts")
    if text.count("{") * len(text) > _MOST_FIELD_CHARACTERS:
        for string in _STRING.finditer(text):
            if string[0].count("{") * len(string[0]) > _MOST_FIELD_CHARACTERS:
                raise TooLargeError("too large to be read: a string of too many fields")
    with parser():
        return ast.parse(text, feature_version=feature_version)


@contextmanager
def parser() -> Iterator[None]:
    """Python's parser and compiler for this thread alone, and without the warnings that they give."""
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fails_alone(otherwise: Callable[..., _Result]) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Decorate a function that reads one text: where it fails, the text gets what ``otherwise`` gives for it.

    Known refusals are handled where they occur; an unknown one would else end the run for every other sample.
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
                return otherwise(*args, **kwargs)

        return guarded

    return within


def read_apart(function: Callable[_Given, _Result], *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
    """What a function of a module gives, found by another process; programs of any permitted size are parsed there.

    Raises TooLargeError where it took more than CPU_SECONDS or MEMORY_MIB, and CalledProcessError where it failed.
    """
    given = pickle.dumps((function, args, kwargs))
    # Without -P a module of the current folder would be imported for one of the standard library.
    command = [sys.executable, "-P", "-c", f"from {__name__} import serve_one_call; serve_one_call()"]
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=False)
    if done.returncode < 0 or done.returncode == _NO_MEMORY:
        bounds = f"{CPU_SECONDS} s of CPU time and {MEMORY_MIB:,} MiB of memory"
        raise TooLargeError(f"too large to be read within {bounds}")
    done.check_returncode()
    return cast("_Result", pickle.loads(done.stdout))  # noqa: S301 - written by the function below


def serve_one_call() -> None:
    """Read one call from standard input and write what it gives."""
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
