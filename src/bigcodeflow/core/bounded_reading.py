"""Reads a large text in a process of its own, which ends where it takes too much time or memory.

Python's parser takes a kilobyte of memory for a character of some texts, and cannot be stopped by another thread.
"""

import math
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from bigcodeflow.core import untrusted_text

CPU_SECONDS = 20
#: Address space beyond that of the process before it reads.
MEMORY_MIB = 1024

_NO_MEMORY = 3  # exit status
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def read_apart(function: Callable[_Given, _Result], *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
    """What a function of a module gives, found by another process; programs of any permitted size are parsed there.

    Raises:
        TooLargeError: it took more than CPU_SECONDS or MEMORY_MIB.
        subprocess.CalledProcessError: it failed otherwise, which it said on standard error.
    """
    given = pickle.dumps((function, args, kwargs))
    # Without -P a module of the current folder would be imported for one of the standard library.
    command = [sys.executable, "-P", "-m", __name__]
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=False)
    if done.returncode < 0 or done.returncode == _NO_MEMORY:
        bounds = f"{CPU_SECONDS} s of CPU time and {MEMORY_MIB:,} MiB of memory"
        raise untrusted_text.TooLargeError(f"too large to be read within {bounds}")
    done.check_returncode()
    return cast("_Result", pickle.loads(done.stdout))  # noqa: S301 - written by the function below


def main() -> None:
    """Read one call from standard input and write what it gives."""
    function, args, kwargs = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by the function above
    _limit()
    untrusted_text.MOST_PARSED.set(untrusted_text.MOST_PROGRAM_CHARACTERS)
    try:
        found = pickle.dumps(function(*args, **kwargs))
    except MemoryError:
        sys.exit(_NO_MEMORY)
    except Exception as error:  # noqa: BLE001 - the boundary of a process
        sys.exit(f"{type(error).__name__}: {error}"[:200])
    sys.stdout.buffer.write(found)


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    memory = pages * resource.getpagesize() + (MEMORY_MIB << 20)
    seconds = math.ceil(time.process_time()) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
