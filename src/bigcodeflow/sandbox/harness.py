"""Runs one program against one test text and reports every test on its own.

Executed by path in the environment's interpreter, inside the sandbox, one process a sample. It trusts nothing that
happens after the program's first line: what it needs later is bound to locals before, the identity of unittest and of
the builtins is compared after every step, and the executor outside checks each frame again.
"""

import builtins
import json
import os
import resource
import shutil
import sys
import time
import traceback
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protocol

sys.path.pop(0)

MODULE_NAME = "__test__"
FILE_NAME = "__test__.py"


def main():
    """Read the job, run it, report it, and leave without giving exit handlers of the program a chance."""
    job = json.loads(sys.stdin.buffer.read().decode("ascii"))
    report = Report(job["report_fd"], job["nonce"])
    prepare_process(job)
    report.send("started")
    leave = os._exit
    run(job, report)
    leave(0)


def prepare_process(job):
    """Set the limits, close standard input, and give the program the surroundings of a cold start."""
    os.set_inheritable(job["report_fd"], False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = open(0, closefd=False)
    if job["home_template"]:
        shutil.copytree(job["home_template"], os.environ["HOME"])
    else:
        os.mkdir(os.environ["HOME"])
    os.mkdir(job["work_folder"])
    os.chdir(job["work_folder"])
    for name, value in job["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    time.tzset()
    sys.argv = [FILE_NAME]
    builtins.exit = None
    builtins.quit = None
    sys.modules["__main__"] = types.ModuleType("__main__")  # this module is no business of the program's


class Report:
    """The pipe to the executor; every frame carries the nonce and its number."""

    def __init__(self, descriptor, nonce):
        encode, write, limit = json.JSONEncoder().encode, os.write, protocol.TRACE_CHARACTERS
        usage, kinds = resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        numbers, process_id, owner = iter(range(1 << 30)), os.getpid, os.getpid()

        def send(event, **fields):
            if process_id() != owner:  # a forked child that fell through into the harness has nothing to report
                return
            for key in ("trace", "exception"):
                if key in fields:
                    fields[key] = fields[key][-limit:]
            if event in protocol.LAST_EVENTS:
                used = [usage(kind) for kind in kinds]
                fields["cpu_seconds"] = sum(one.ru_utime + one.ru_stime for one in used)
                fields["max_rss_mib"] = max(one.ru_maxrss for one in used) / 1024
            fields.update(event=event, nonce=nonce, number=next(numbers))
            data = encode(fields).encode("ascii") + b"\n"
            while data:
                data = data[write(descriptor, data) :]

        self.send = send


class Guard:
    """Remembers what unittest and the builtins were before the program ran."""

    _CLASSES = (unittest.TestCase, unittest.TestResult, unittest.TestSuite, unittest.TestLoader, unittest.BaseTestSuite)
    _IGNORED = frozenset(["exit", "quit", "_", "input", "print", "open", "copyright", "credits", "license", "help"])

    def __init__(self):
        owners = [(cls, cls.__name__) for cls in self._CLASSES]
        owners += [(unittest, "unittest"), (unittest.case, "unittest.case"), (builtins, "builtins")]
        watched = [(owner, name, self._behaviour(owner)) for owner, name in owners]
        modules = {name: sys.modules[name] for name in ("unittest", "unittest.case", "unittest.result", "builtins")}
        codes = {
            value: value.__code__
            for _, _, names in watched
            for value in names.values()
            if type(value) is types.FunctionType
        }
        self.changes = _comparison(watched, modules, codes)

    def _behaviour(self, owner):
        methods = (staticmethod, classmethod)
        return {
            key: value
            for key, value in vars(owner).items()
            if key not in self._IGNORED and (callable(value) or isinstance(value, methods))
        }


def _comparison(watched, modules, codes):
    current, loaded, missing, tracing = vars, sys.modules, object(), sys.gettrace

    def changes():
        found = []
        for owner, name, before in watched:
            now = current(owner)
            for key, value in before.items():
                if now.get(key, missing) is not value:
                    found.append(name + "." + key + " was replaced")
        for name, module in modules.items():
            if loaded.get(name) is not module:
                found.append("sys.modules[" + repr(name) + "] was replaced")
        for function, code in codes.items():
            if function.__code__ is not code:
                found.append(function.__qualname__ + " was given other code")
        if tracing() is not None:
            found.append("a trace function was installed")
        return found

    return changes


class Result(unittest.TestResult):
    """Sends the outcome of each test as it ends; the worst of several outcomes of one test counts."""

    _RANK = ("pass", "expected_failure", "unexpected_success", "skip", "fail", "error")

    def __init__(self, report, guard):
        super().__init__()
        self._send, self._changes, self._clock = report.send, guard.changes, time.perf_counter
        self._outcome, self._details, self._began = None, {}, 0.0

    def startTest(self, test):  # noqa: N802
        super().startTest(test)
        self._outcome, self._details, self._began = None, {}, self._clock()

    def stopTest(self, test):  # noqa: N802
        super().stopTest(test)
        self._send(
            "test",
            name=test._testMethodName,
            outcome=self._outcome or "missing",
            seconds=self._clock() - self._began,
            **self._details,
        )
        for what in self._changes():
            self._send("tampering", what=what)

    def _note(self, outcome, error=None):
        if self._outcome is None or self._RANK.index(outcome) > self._RANK.index(self._outcome):
            self._outcome = outcome
            self._details = describe(error) if error else {}

    def addSuccess(self, test):  # noqa: N802
        self._note("pass")

    def addFailure(self, test, err):  # noqa: N802
        self._note("fail", err)

    def addError(self, test, err):  # noqa: N802
        if isinstance(test, unittest.TestCase):
            self._note("error", err)
        else:
            self._send("class_failed", **describe(err))

    def addSubTest(self, test, subtest, err):  # noqa: N802
        if err is not None:
            self._note("fail" if issubclass(err[0], test.failureException) else "error", err)

    def addSkip(self, test, reason):  # noqa: N802
        if isinstance(test, unittest.TestCase):
            self._note("skip")
        else:
            self._send("class_failed", exception="SkipTest", missing_module="", trace=str(reason))

    def addExpectedFailure(self, test, err):  # noqa: N802
        self._note("expected_failure", err)

    def addUnexpectedSuccess(self, test):  # noqa: N802
        self._note("unexpected_success")

    def addDuration(self, test, elapsed):  # noqa: N802
        """Unused: the clock of this class started before anything foreign ran."""


def describe(error):
    """Exception's type with its bases, the module that was missing, and the traceback without the harness's frames."""
    kind, value, trace = error
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, unittest.case.__file__):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(kind, value, trace))
    except BaseException as problem:  # a __str__ of the program may raise anything
        text = "%s (its traceback cannot be printed: %s)" % (kind.__name__, type(problem).__name__)
    missing = getattr(value, "name", None) if issubclass(kind, ModuleNotFoundError) else None
    return {
        "exception": " ".join(base.__name__ for base in kind.__mro__[:-1]),
        "missing_module": missing if isinstance(missing, str) else "",
        "trace": text,
    }


def run(job, report):
    """Import program and test as one module, then run the tests that the module text declares."""
    guard = Guard()
    send, loader, suite_class = report.send, unittest.TestLoader(), unittest.TestSuite
    flush_stream, seen, execute = flush, report_changes, execute_part
    result = Result(report, guard)
    try:
        parts = compile_parts(job["program"], job["test"])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        send("module_failed", phase="compile", **describe((type(error), error, None)))
        return
    module = types.ModuleType(MODULE_NAME)
    module.__file__ = FILE_NAME
    sys.modules[MODULE_NAME] = module
    for phase, code in parts:
        if not execute(code, module, phase, send) or seen(guard, send):
            return
    try:
        cases = [module.TestCases(name) for name in loader.getTestCaseNames(module.TestCases)]
    except BaseException:
        send("module_failed", phase="collect", **describe(sys.exc_info()))
        return
    send("loaded", tests=[case._testMethodName for case in cases])
    suite_class(cases).run(result)
    seen(guard, send)
    for stream in (sys.__stdout__, sys.__stderr__):
        flush_stream(stream)
    send("end")


def report_changes(guard, send):
    """Report what changed in unittest or the builtins; true when anything did."""
    changes = guard.changes()
    for what in changes:
        send("tampering", what=what)
    return bool(changes)


def execute_part(code, module, phase, send):
    """Run one part of the module; false when it raised, which includes SystemExit."""
    try:
        exec(code, module.__dict__)
    except BaseException:
        send("module_failed", phase=phase, **describe(sys.exc_info()))
        return False
    return True


def compile_parts(program, test):
    """Code of program and test apart, so that the test text cannot be captured by an open end of the program.

    Both must also compile as the one text that the original executes; where the test alone does not (it never
    happens in BigCodeBench), that one text is run. Line numbers are those of the one text.
    """
    whole = compile(program + "\n" + test, FILE_NAME, "exec", dont_inherit=True)
    first = compile(program, FILE_NAME, "exec", dont_inherit=True)
    inherited = first.co_flags & future_flags()
    lines_before = "\n" * (program.count("\n") + 1)
    try:
        second = compile(lines_before + test, FILE_NAME, "exec", flags=inherited, dont_inherit=True)
    except SyntaxError:
        return [("program", whole)]
    return [("program", first), ("test", second)]


def future_flags():
    import __future__

    mask = 0
    for name in __future__.all_feature_names:
        mask |= getattr(__future__, name).compiler_flag
    return mask


def flush(stream):
    """Write out what the program printed, if it left the stream usable."""
    try:
        stream.flush()
    except BaseException:
        return


if __name__ == "__main__":
    main()
