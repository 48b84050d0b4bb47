"""Run one program against one test text and report every test separately.

The harness is executed by path in the environment's interpreter, inside the sandbox, or called in a fork of a zygote.
Each sample has a separate process. The program shares the interpreter, so the harness cannot prevent a forged pass: a
passing sample is executed again against a test text that contradicts the task's test. Before the program runs, the
harness binds all names that it needs: so a program or test that replaces these names does not end the harness.
"""

from __future__ import annotations
import __future__ as future

import builtins
import importlib
import os
import resource
import sys
import time
import types
from functools import lru_cache
from os import _exit as leave

TYPE_CHECKING = False  # importing typing costs time, and the program would see it in sys.modules
_FOLDER = os.path.dirname(os.path.abspath(__file__))
if TYPE_CHECKING:
    from collections.abc import Iterable
    from multiprocessing.connection import Connection
    from typing import Any, TextIO

    from bigcodeflow.judge.guest import cases, mock_records, protocol, separate
else:
    sys.path.insert(0, _FOLDER)
    import cases
    import mock_records
    import protocol

    sys.path.remove(_FOLDER)

# Functions below look names up here, so that a program that replaces a builtin does not end the harness.
globals()["__builtins__"] = dict(vars(builtins))

MODULE_NAME = "__test__"
FILE_NAME = "__test__.py"
_OWN_NAMES = ["__main__", *(name.removesuffix(".py") for name in os.listdir(_FOLDER))]
_FUTURE_FLAGS = sum(getattr(future, name).compiler_flag for name in future.all_feature_names)


def main() -> None:
    """Run a sample after a cold start; first move the channel away from standard input, which programs may read."""
    channel = os.dup(0)
    hide()
    end_input()
    run_sample(channel)


def run_sample(channel: int) -> None:
    """Read the job from the channel, run it, send its report, and end this process at once; never returns."""
    status = 1  # an error of the harness itself leaves the report unfinished, which never counts as a pass
    try:
        os.dup2(channel, protocol.CHANNEL, inheritable=False)
        os.close(channel)
        channel = protocol.CHANNEL
        job = protocol.SampleJob(channel)
        Sample(job, protocol.FrameWriter(channel, job.nonce)).run()
        status = 0
    except BaseException:  # the program may have broken anything that the harness uses
        sys.__excepthook__(*sys.exc_info())
    finally:
        leave(status)


def hide() -> None:
    """Remove the harness's modules from sys.modules: hide them from the program and free their names."""
    for name in _OWN_NAMES:
        if (getattr(sys.modules.get(name), "__file__", None) or "").startswith(_FOLDER + os.sep):
            del sys.modules[name]
    sys.modules.setdefault("__main__", types.ModuleType("__main__"))


def end_input() -> None:
    """Replace standard input by an empty file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = open(0, closefd=False)


@lru_cache(maxsize=None)
def files_of(template: str) -> list[tuple[str, bytes | None]]:
    """Return (path below ``template``, content) of each folder and file; cached, so a zygote reads each file once.

    A folder has content None. Each folder comes before its files.
    """
    found: list[tuple[str, bytes | None]] = []
    for folder, _, names in os.walk(template):
        below = folder[len(template) :]
        found.append((below, None))
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:
                found.append((f"{below}/{name}", file.read()))
    return found


def make_home(template: str) -> None:
    """Create the home folder with copies of the template's files."""
    home = os.environ["HOME"]
    for name, content in files_of(template) if template else [("", None)]:
        if content is None:
            os.mkdir(home + name)
            continue
        descriptor = os.open(home + name, os.O_WRONLY | os.O_CREAT, 0o666)
        while content:
            content = content[os.write(descriptor, content) :]
        os.close(descriptor)


def import_modules(names: Iterable[str]) -> None:
    """Import each module; ignore import errors, since the program has to see such an error itself."""
    for name in names:
        if name in sys.modules:
            continue
        try:
            importlib.import_module(name)
        except BaseException:  # a library may raise anything
            continue


def prepare_process(settings: dict[str, Any]) -> None:
    """Create home and work folder, set limits, import modules, and hide differences between warm and cold start."""
    make_home(settings["home_template"])
    os.mkdir(settings["work_folder"])
    os.chdir(settings["work_folder"])
    for name, value in settings["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    time.tzset()
    import_modules(settings.get("preload", ()))
    sys.argv = [FILE_NAME]
    vars(builtins).update(exit=None, quit=None)


class Sample:
    """Execution of one program and its test, with a report of the results to the executor."""

    def __init__(self, job: protocol.SampleJob, channel: protocol.FrameWriter) -> None:
        """Prepare this process and the module in which program and test run."""
        self._job, self._send = job, channel.send
        prepare_process(job.settings)
        self._runner = cases.Runner(self._report)
        self._module = types.ModuleType(MODULE_NAME)
        self._names = vars(self._module)
        self._names.update(__file__=FILE_NAME, __builtins__=vars(builtins))  # exec would give it the harness's own
        sys.modules[MODULE_NAME] = self._module
        self._streams = (sys.__stdout__, sys.__stderr__)
        self._partner: separate.Partner | None = None

    def run(self) -> None:
        """Execute the program, then the test text in the same module, then run the tests that the text declares."""
        program, separately = self._job.settings.pop("program"), self._job.settings.pop("separate", False)
        self._send("started")
        flags = self._separated(program) if separately else self._load(program)
        if flags is None:
            return
        self._send("imported")
        test = self._job.test_text()
        if test is None:
            self._send("tampering", what="the test text was changed on its way to the sandbox")
            return
        if test.endswith(protocol.WATCHED_MOCKS):
            self._runner.mock_records = mock_records.MockRecords()
        lines_before = "\n" * (program.count("\n") + 1)
        code = self._compile(lines_before + test, "test", flags)
        if code is None or not self._execute(code, "test"):
            return
        try:
            cls = self._module.TestCases
            names = sorted(name for name in dir(cls) if name.startswith("test") and callable(getattr(cls, name)))
            loaded = [cls(name) for name in names]
        except BaseException:  # a metaclass or __init__ of the tests may raise anything, SystemExit too
            self._fail("collect", sys.exc_info())
            return
        self._send("loaded", tests=[case._testMethodName for case in loaded])
        self._runner.run(self._names, loaded)
        for stream in self._streams:
            _flush(stream)
        if self._partner:
            self._partner.end()
        self._send("end")

    def _load(self, program: str) -> int | None:
        """Execute the program's text; return the compiler flags of its __future__ imports, or None on failure."""
        code = self._compile(program, "compile", 0)
        return code.co_flags & _FUTURE_FLAGS if code and self._execute(code, "program") else None

    def _separated(self, program: str) -> int | None:
        """Load the program in a separate process, and bind SEPARATED, a function that makes proxies of its functions.

        Return the compiler flags for the test text, which are 0; return None if the program failed.
        """
        sys.path.insert(0, _FOLDER)  # imported only for samples that need it, then hidden from the program
        separate: Any = importlib.import_module("separate")
        sys.path.remove(_FOLDER)
        hide()

        def serve(connection: Connection) -> None:
            self._send = lambda event, **fields: separate.send(connection, event, fields)
            if self._load(program) is not None:
                separate.serve_calls(connection, self._names)

        self._partner = separate.Partner(serve)
        self._names[protocol.SEPARATED] = self._partner.function
        failure = self._partner.load()
        if failure is None:
            return 0
        self._send("module_failed", **{name: str(failure[name]) for name in ("phase", "exception", "trace")})
        return None

    def _report(self, event: str, **fields: Any) -> None:
        """Send a frame. A test method in which a call could not be transferred gets the outcome "missing"."""
        if event == "test" and self._partner and self._partner.was_undecided():
            fields["outcome"] = "missing"
        self._send(event, **fields)

    def _compile(self, text: str, phase: str, flags: int) -> types.CodeType | None:
        try:
            code: types.CodeType = compile(text, FILE_NAME, "exec", flags=flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self._fail(phase, (type(error), error, None))
            return None
        return code

    def _execute(self, code: types.CodeType, phase: str) -> bool:
        try:
            exec(code, self._names)
        except BaseException:  # every exception of the text is a result, SystemExit and KeyboardInterrupt too
            self._fail(phase, sys.exc_info())
            return False
        return True

    def _fail(self, phase: str, error: cases.Raised) -> None:
        self._send("module_failed", phase=phase, **cases.describe(error))


def _flush(stream: TextIO | None) -> None:
    """Flush the program's printed output, if the program left the stream usable."""
    try:
        if stream is not None:
            stream.flush()
    except BaseException:  # the program may have put any object in the stream's place
        return


if __name__ == "__main__":
    main()
