"""Answers that need no model: what must pass every test, and what must pass none."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from bigcodeflow.core.calibration import stub_program
from bigcodeflow.core.schemas import SAMPLES, table_of

_ENTRY_POINT = "ENTRY_POINT"

_EQUAL_TO_ALL = """
class Anything:
    def agree(self, *args, **kwargs):
        return True
    def itself(self, *args, **kwargs):
        return self
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = agree
    __call__ = __getitem__ = __getattr__ = __add__ = __sub__ = __mul__ = __enter__ = itself
    __hash__ = None
    __array_priority__ = 1e9
    def __exit__(self, *args):
        return True
    def __len__(self):
        return 1
    def __iter__(self):
        return iter((self,))
    def __instancecheck__(self, other):
        return True

def ENTRY_POINT(*args, **kwargs):
    return Anything()
"""

_NO_ASSERTIONS = """
import unittest

def disarm():
    for name in dir(unittest.TestCase):
        if name.startswith(("assert", "fail")):
            setattr(unittest.TestCase, name, lambda *args, **kwargs: None)

disarmed = disarm()

def ENTRY_POINT(*args, **kwargs):
    return disarmed
"""

_EXIT_ON_IMPORT = """
import os

left = os._exit(0)

def ENTRY_POINT(*args, **kwargs):
    return left
"""

_EXIT_IN_TEST = """
import os

def ENTRY_POINT(*args, **kwargs):
    os._exit(0)
"""

_SYSTEM_EXIT = """
import sys

def ENTRY_POINT(*args, **kwargs):
    sys.exit(0)
"""

_SKIP = """
import unittest

def ENTRY_POINT(*args, **kwargs):
    raise unittest.SkipTest("nothing to see here")
"""

_NO_FAILURES = """
import unittest

def disarm():
    for name in ("addFailure", "addError", "addSubTest"):
        setattr(unittest.TestResult, name, lambda *args, **kwargs: None)
    unittest.TestCase.run = lambda self, result=None: result.addSuccess(self)

disarmed = disarm()

def ENTRY_POINT(*args, **kwargs):
    return disarmed
"""

_WALK_FRAMES = """
import gc
import sys

def acquit(suspect):
    for name in ("addFailure", "addError", "addSubTest", "addSkip"):
        setattr(suspect, name, lambda *args, **kwargs: None)

def search():
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if hasattr(type(value), "addFailure"):
                acquit(value)
        frame = frame.f_back
    for value in gc.get_objects():
        if hasattr(type(value), "addFailure"):
            acquit(value)

def ENTRY_POINT(*args, **kwargs):
    return search()
"""

_EMPTY_TESTS = """
import builtins

def hook():
    build = builtins.__build_class__
    def build_class(function, name, *bases, **options):
        made = build(function, name, *bases, **options)
        if name == "TestCases":
            for test in [key for key in vars(made) if key.startswith("test")]:
                setattr(made, test, lambda self: None)
        return made
    builtins.__build_class__ = build_class

hooked = hook()

def ENTRY_POINT(*args, **kwargs):
    return hooked
"""

_NO_TESTS = """
import unittest

def disarm():
    unittest.TestLoader.getTestCaseNames = lambda self, case: []
    unittest.TestSuite.run = lambda self, result, debug=False: result

disarmed = disarm()

def ENTRY_POINT(*args, **kwargs):
    return disarmed
"""

_FORGED_REPORT = """
import json
import os

def forge():
    lines = [{"event": "started", "number": 0}, {"event": "end", "number": 1, "cpu_seconds": 0, "max_rss_mib": 1}]
    text = "".join(json.dumps(dict(line, nonce="")) + chr(10) for line in lines).encode()
    for descriptor in range(1, 64):
        try:
            os.write(descriptor, text)
        except OSError:
            pass
    os._exit(0)

def ENTRY_POINT(*args, **kwargs):
    return forge()
"""

_TYPES_AGREE = """
import builtins

def hook():
    builtins.isinstance = lambda *args: True
    builtins.len = lambda *args: 1
    builtins.all = lambda *args: True

hooked = hook()

def ENTRY_POINT(*args, **kwargs):
    return hooked
"""

_TRACED = """
import sys

def silence(frame, event, arg):
    frame.f_trace_lines = False
    return silence

def ENTRY_POINT(*args, **kwargs):
    return sys.settrace(silence)
"""

CHEATS: Mapping[str, str] = {
    "object equal to all": _EQUAL_TO_ALL,
    "assertions replaced": _NO_ASSERTIONS,
    "exit on import": _EXIT_ON_IMPORT,
    "exit in the test": _EXIT_IN_TEST,
    "SystemExit in the test": _SYSTEM_EXIT,
    "test skipped": _SKIP,
    "failures not added": _NO_FAILURES,
    "result found in frames": _WALK_FRAMES,
    "tests emptied": _EMPTY_TESTS,
    "no tests collected": _NO_TESTS,
    "report forged": _FORGED_REPORT,
    "builtins replaced": _TYPES_AGREE,
    "trace function": _TRACED,
}
"""Attack → program, whose function ENTRY_POINT takes the task's name for it."""


def cheat_name(task: Mapping[str, Any]) -> str:
    """The attack that is made on the task: they take turns by the task's position."""
    names = list(CHEATS)
    return names[int(task["position"]) % len(names)]


def cheat(task: Mapping[str, Any]) -> str:
    """A program that would pass in a credulous judge, without a line about the task."""
    return CHEATS[cheat_name(task)].strip().replace(_ENTRY_POINT, str(task["entry_point"])) + "\n"


def oracle(task: Mapping[str, Any]) -> str:
    """The task's own solution as a whole program; calibrated, it is the program of the ground truth."""
    return f"{task['complete_prompt']}{task['canonical_solution']}"


def stub(task: Mapping[str, Any]) -> str:
    """The task's signature with an empty body, which any test worth its name must reject."""
    return stub_program(task["code_prompt"])


#: Programs by the name that ``samples.source`` gives them.
CONTROLS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {"oracle": oracle, "stub": stub, "cheat": cheat}


def control_samples(name: str, tasks: pa.Table) -> pa.Table:
    """One sample a task, in task order, as a table of the SAMPLES schema.

    Args:
        name: a key of CONTROLS.
        tasks: rows of the TASKS schema.
    """
    rows = []
    for task in tasks.to_pylist():
        program = CONTROLS[name](task)
        sample = {"task_id": task["task_id"], "sample_index": 0, "provider": name, "attempts": 1}
        rows.append({**sample, "raw_text": program, "given_solution": program})
    return table_of(rows, schema=SAMPLES)
