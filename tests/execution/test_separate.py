"""Executions in which program and test have a process each: what passes between them, and what must not."""

import collections
import datetime as dt
import json
import math
import pathlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest import separate
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.integrity.contradictions import separated_test
from bigcodeflow.judge.items import WorkItem, separated

from .conftest import LIMITS, item, judged

_SOLUTION = "LIMIT = 3\ndef task_func(numbers):\n    '''Sum.'''\n    return sum(numbers)\n"
_SUM = """import unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(task_func([1, 2, LIMIT]), 6)
        self.assertEqual(task_func.__doc__, "Sum.")
"""

_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.builds(pathlib.PosixPath, st.just("a/b")),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.lists(inner).map(collections.deque)
        | st.dictionaries(st.text(), inner)
        | st.dictionaries(st.integers(), inner).map(collections.OrderedDict)
        | st.sets(st.integers(), max_size=1)
        | st.frozensets(st.text(), max_size=1)
        | st.dictionaries(st.text(), st.integers()).map(collections.Counter)
    ),
    max_leaves=10,
)


def _passed_on(value: object) -> object:
    return separate.decoded(json.loads(json.dumps(separate.encoded(value))))


@given(_PLAIN)
def test_plain_data_arrives_as_it_was_sent(value: object) -> None:
    """Value and type, at every depth."""
    found = _passed_on(value)
    assert found == value
    assert repr(found) == repr(value)


def test_no_number_is_lost() -> None:
    """The ones that JSON has no word for."""
    assert math.isnan(_passed_on(math.nan))
    assert _passed_on([math.inf, -math.inf, 10**300]) == [math.inf, -math.inf, 10**300]
    assert math.copysign(1, _passed_on(-0.0)) == -1


class _Always(list):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None

    def __iter__(self):
        return iter(())


class _Cents(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


_PAIR = collections.namedtuple("Pair", "a b")(1, 2)  # noqa: PYI024


class _Missing(dict):
    def __missing__(self, key: object) -> int:
        return 0


def test_an_object_of_a_programs_class_arrives_as_the_plain_value_in_it() -> None:
    """What its class answers to comparisons stays behind."""
    assert _passed_on(_Always([1, 2])) == [1, 2]
    assert type(_passed_on(_Cents(5))) is int


@pytest.mark.parametrize("value", [object(), print, (number for number in range(3)), _Missing(), _Always, [_PAIR]])
def test_what_is_no_plain_data_does_not_pass(value: object) -> None:
    """It would need code of the program, or behave otherwise without it."""
    with pytest.raises(TypeError, match="is no plain data"):
        separate.encoded(value)


@pytest.mark.parametrize("kind", ["builtins.eval", "builtins.print", "os.system", "builtins.type", ""])
def test_a_message_cannot_name_anything_else(kind: str) -> None:
    """Only the kinds of the table are made."""
    with pytest.raises(KeyError):
        separate.decoded({"kind": kind, "parts": ["1"]})


class _RefusedError(KeyError, ValueError):
    def __str__(self) -> str:
        return "no: " + str(self.args[0])


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        KeyError("name"),
        FileNotFoundError(2, "No such file or directory", "a.txt"),
        json.JSONDecodeError("Expecting value", "x", 0),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        SystemExit(3),
        _RefusedError("a"),
    ],
)
def test_an_exception_arrives_with_kinds_and_text(error: BaseException) -> None:
    """What the test can see of it: what catches it, and what it says."""
    found = separate.decoded_error(json.loads(json.dumps(separate.encoded_error(error))))
    assert str(found) == str(error)
    kinds = [one for one in type(error).__mro__ if one.__module__ in ("builtins", "json.decoder")]
    assert all(isinstance(found, kind) for kind in kinds)
    assert getattr(found, "filename", None) == getattr(error, "filename", None)


def _apart(program: str, test: str, solution: str, time_seconds: float) -> WorkItem:
    text = separated_test(solution, test, "task_func").text
    return separated(replace(item(program, text, expected=("test_answer",)), time_seconds=time_seconds))


@pytest.fixture(scope="module", params=[False, True], ids=["cold", "warm"])
def judge_apart(
    request: pytest.FixtureRequest, starter_environment: InstalledEnvironment
) -> Iterator[Callable[..., dict]]:
    """Judges a program in a process of its own; the solution is the program's where none is given."""
    with closing(LocalBackend(starter_environment, LIMITS, warm=request.param)) as backend:
        if backend.check().warm != request.param:
            pytest.skip("sandboxes cannot be forked warm on this machine")

        def judge(program: str, test: str = _SUM, solution: str = _SOLUTION) -> dict:
            return judged(backend, _apart(program, test, solution, 20.0))

        yield judge


def _test_of(body: str) -> str:
    return f"import io, os, random, sys, unittest\nclass TestCases(unittest.TestCase):\n    def test_answer(self):\n        {body}\n"


_PRINTING = "def task_func():\n    print('out')\n"
HONEST = [
    ("a result", _SOLUTION, _SUM),
    ("printed text", _PRINTING, _test_of("sys.stdout = io.StringIO(); task_func(); self.assertEqual(sys.stdout.getvalue(), 'out\\n'); sys.stdout = sys.__stdout__")),
    ("a random state of the test's", "import random\ndef task_func():\n    return random.random()\n", _test_of("random.seed(1); self.assertEqual([task_func() for _ in range(2)], [0.13436424411240122, 0.8474337369372327])")),
    ("the same, begun again", "import random\ndef task_func():\n    return random.random()\n", _test_of("random.seed(1); first = task_func(); random.seed(1); self.assertEqual(first, task_func())")),
    ("a working folder", "import os\ndef task_func():\n    return os.path.exists('a')\n", _test_of("os.mkdir('deep'); os.chdir('deep'); open('a', 'w').close(); self.assertTrue(task_func())")),
    ("a file that it writes", "def task_func():\n    open('made', 'w').write('x')\n", _test_of("task_func(); self.assertEqual(open('made').read(), 'x')")),
    ("the environment", "import os\ndef task_func():\n    return os.environ['SET']\n", _test_of("os.environ['SET'] = 'x'; self.assertEqual(task_func(), 'x')")),
    ("state between calls", "calls = []\ndef task_func():\n    calls.append(1)\n    return len(calls)\n", _test_of("self.assertEqual([task_func(), task_func()], [1, 2])")),
    ("its own error", "class Bad(ValueError): pass\ndef task_func():\n    raise Bad('no')\n", _test_of("self.assertRaisesRegex(ValueError, 'no', task_func)")),
    ("what the connection uses", "import io, json, os, pickle, sys\nfor module, names in ((json, 'dumps loads'), (pickle, 'loads dumps'), (io, 'StringIO'), (os, '_exit getpid getcwd')):\n    for name in names.split(): setattr(module, name, None)\n" + _SOLUTION, _SUM),
    ("a changed list", "def task_func(numbers):\n    numbers.sort()\n    numbers.append(9)\n", _test_of("given = [3, 1]; task_func(given); self.assertEqual(given, [1, 3, 9])")),
    ("containers inside one", "def task_func(data):\n    data['a'].append(2)\n    data['b'] = {3}\n    data.pop('c')\n", _test_of("inner = [1]; data = {'a': inner, 'c': 0}; task_func(data=data); self.assertEqual((inner, data), ([1, 2], {'a': [1, 2], 'b': {3}}))")),
    ("a changed deque", "def task_func(queue):\n    queue.rotate(1)\n    return list(queue)\n", _test_of("import collections; given = collections.deque([1, 2, 3]); self.assertEqual(task_func(given), list(given))")),
    ("sorted tuples", "def task_func(pairs):\n    pairs.sort()\n", _test_of("given = [(2, 'b'), (1, 'a')]; task_func(given); self.assertEqual(given, [(1, 'a'), (2, 'b')])")),
    ("names of its own", "import types\ndef task_func():\n    return types.SimpleNamespace(a=[1])\n", _test_of("self.assertEqual(task_func().a, [1])")),
    ("a removed folder", "import os\nos.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\ndef task_func(numbers):\n    return sum(numbers)\n", _test_of("self.assertEqual(task_func([1]), 1)")),
    ("a thread that goes on", "import threading\ndef task_func(numbers):\n    threading.Thread(target=threading.Event().wait, daemon=True).start()\n    return sum(numbers)\n", _test_of("self.assertEqual(task_func([1]), 1)")),
    ("files closed as a precaution", "import os\nos.closerange(3, 256)\ndef task_func(numbers):\n    return sum(numbers)\n", _test_of("self.assertEqual(task_func([1]), 1)")),
    ("a forked child that goes on", "import os\ndef task_func(numbers):\n    if os.fork(): os.wait()\n    return sum(numbers)\n", _SUM.replace("Sum.", "Sum.")),
]  # fmt: skip


@pytest.mark.sandbox
@pytest.mark.parametrize(("program", "test"), [row[1:] for row in HONEST], ids=[row[0] for row in HONEST])
def test_a_correct_program_passes(judge_apart: Callable[..., dict], program: str, test: str) -> None:
    """Whatever it shares with its test, but for objects."""
    found = judge_apart(program, test, program if test != _SUM else _SOLUTION)
    assert found["status"] == "pass", [found["module_trace"], *(one["trace"] for one in found["tests"])]


_LIBRARIES = """import numpy as np, pandas as pd, unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        np.random.seed(3)
        frame, series, array, scalar, drawn = task_func(pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=["p", "q"]))
        np.random.seed(3)
        self.assertEqual(drawn, np.random.rand())
        pd.testing.assert_frame_equal(frame, pd.DataFrame({"a": [2, 4], "b": ["x", None]}, index=["p", "q"]))
        pd.testing.assert_series_equal(series, pd.Series(["u", "v", "u"], dtype="category", name="s"))
        np.testing.assert_array_equal(array, np.array([[1.5, np.nan]], dtype=np.float32))
        self.assertEqual((array.dtype, type(scalar)), (np.float32, np.int64))
"""
_WITH_LIBRARIES = """import numpy as np, pandas as pd
def task_func(frame):
    doubled = frame.assign(a=frame["a"] * 2)
    series = pd.Series(["u", "v", "u"], dtype="category", name="s")
    return doubled, series, np.array([[1.5, np.nan]], dtype=np.float32), np.int64(7), np.random.rand()
"""


_CHANGED = """import numpy as np, pandas as pd, unittest
class TestCases(unittest.TestCase):
    def test_answer(self):
        frame, series, array = pd.DataFrame({"a": [2, 1]}), pd.Series([2, 1]), np.array([2, 1])
        same, index = frame, frame.index
        task_func(frame, [series], array=array)
        pd.testing.assert_frame_equal(same, pd.DataFrame({"a": [1, 2], "b": [2, 4]}, index=[1, 0]))
        self.assertEqual((series.tolist(), array.tolist(), index.tolist()), ([5, 1], [1, 2], [0, 1]))
"""
_CHANGING = """def task_func(frame, several, array):
    frame["b"] = frame["a"] * 2
    frame.sort_values("a", inplace=True)
    several[0].iloc[0] = 5
    array.sort()
"""


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "test"), [(_WITH_LIBRARIES, _LIBRARIES), (_CHANGING, _CHANGED)], ids=["results", "changed arguments"]
)
def test_arrays_and_frames_arrive_with_their_types(
    bigcodebench_environment: InstalledEnvironment, program: str, test: str
) -> None:
    """Also numpy's random state goes along, and it comes to a verdict, not to an undecided call."""
    with closing(LocalBackend(bigcodebench_environment, LimitsConfig(), warm=True)) as backend:
        found = judged(backend, _apart(program, test, program, 60.0))
    assert found["status"] == "pass", [found["module_trace"], *(one["trace"] for one in found["tests"])]


@pytest.mark.sandbox
def test_a_change_that_cannot_be_sent_is_undecided(judge_apart: Callable[..., dict]) -> None:
    """The test would see the object as it was, and fail a correct program."""
    program = "def task_func(given):\n    given.a = 2\n    return given.a\n"
    test = _test_of("import types; given = types.SimpleNamespace(a=1); self.assertEqual(task_func(given), given.a)")
    found = judge_apart(program, test, program)
    assert [one["outcome"] for one in found["tests"]] == ["missing"], found


FORGED = [
    ("assertions replaced", "import unittest\nunittest.TestCase.assertEqual = lambda *rest: None\ndef task_func(numbers):\n    return 7\n"),
    ("the expected value read from the caller", "import sys\ndef task_func(numbers):\n    return next(one for one in sys._getframe(1).f_code.co_consts if one == 6)\n"),
    ("an equal object", "class Any(int):\n    def __eq__(self, other): return True\n    __hash__ = None\ndef task_func(numbers):\n    return Any(7)\n"),
    ("a call of what solves the task", "import gc\ndef task_func(numbers):\n    found = [one for one in gc.get_objects() if getattr(one, '__name__', '') == 'task_func' and one is not task_func]\n    return found[0](numbers)\n"),
    ("a number that is of a kind of its own", "class Any(int):\n    def __lt__(self, other): return True\n    def __eq__(self, other): return True\n    def __len__(self): return 1\ndef task_func(numbers):\n    return Any(7)\n"),
    ("an error that is raised apart alone", "import os\ndef task_func(numbers):\n    os.fstat(1000)\n    return 6\n"),
    ("the connection closed", "import os\ndef task_func(numbers):\n    os.close(1001)\n    return 6\n"),
    ("no message on the connection", "import os\ndef task_func(numbers):\n    os.write(1001, (2).to_bytes(4, 'big') + b'{}')\n    return 6\n"),
    ("an end without exit handlers", "import os\ndef task_func(numbers):\n    os._exit(0)\n"),
]  # fmt: skip


@pytest.mark.sandbox
@pytest.mark.parametrize("program", [row[1] for row in FORGED], ids=[row[0] for row in FORGED])
def test_a_wrong_program_fails(judge_apart: Callable[..., dict], program: str) -> None:
    """What it does to its own interpreter does not reach the test."""
    found = judge_apart(program)
    assert (found["status"], found["tampering"]) == ("fail", []), found


@pytest.mark.sandbox
def test_the_process_of_the_test_cannot_be_looked_into(judge_apart: Callable[..., dict]) -> None:
    """Neither its memory nor its descriptors, where the channel to the executor is; nothing of the test is in reach."""
    program = """import gc, os
def refused(path):
    try:
        os.listdir(path) if path.endswith("fd") else open(path, "rb")
    except PermissionError:
        return True
    return False
def task_func(marker):
    if marker:
        words = "".join(repr(one) for one in gc.get_objects() if isinstance(one, (str, dict, list, tuple)))
        parent = f"/proc/{os.getppid()}/"
        return [refused(parent + "mem"), refused(parent + "fd"), marker[::-1] in words, len(os.listdir("/proc/self/fd"))]
    return None
"""
    test = _test_of(
        "secret = 'a word of the test'; self.assertEqual(task_func('tset eht fo drow a'), [True, True, False, 5])"
    )
    found = judge_apart(program, test, "def task_func(marker):\n    pass\n")
    assert found["status"] == "pass", found["tests"]


@pytest.mark.parametrize(
    ("body", "decides"),
    [
        ("self.assertEqual(task_func([1]), 1)", True),
        ("self._check(task_func([1]))", True),
        ("task_func([1])", False),
        ("with patch('os.getcwd'):\n            self.assertEqual(task_func([1]), 1)", False),
        ("os.getcwd = lambda: ''\n        self.assertEqual(task_func([1]), 1)", False),
        ("sys.stdout = io.StringIO()\n        self.assertEqual(task_func([1]), 1)", True),
    ],
)
def test_methods_that_replace_parts_of_modules_or_check_nothing_decide_nothing(body: str, *, decides: bool) -> None:
    """The program's process would not notice, and an empty method is passed by all."""
    altered = separated_test(_SOLUTION, _test_of(body), "task_func")
    assert [one.test for one in altered.alterations] == ["test_answer"] * decides


def test_nothing_is_decided_where_all_methods_share_a_double() -> None:
    """Of a fixture, a decorator or the module."""
    for line in ("    setUp = patch('os.getcwd')", "    @patch('os.getcwd')\n    def setUp(self, _): pass"):
        test = _test_of("self.assertEqual(task_func([1]), 1)").replace(":\n    def", f":\n{line}\n    def", 1)
        assert separated_test(_SOLUTION, test, "task_func").alterations == ()
    assert separated_test(_SOLUTION, "def broken(", "task_func").alterations == ()
