"""Tests are read from the text exactly as unittest would load them, without running it."""

import csv
import unittest
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.judge.expected_tests import expected_test_ids

_HEAD = "import unittest\n"
_CLASS = "class TestCases(unittest.TestCase):\n"


def _loaded(text: str) -> tuple[str, ...]:
    """What unittest itself loads, by running the text."""
    namespace: dict = {}
    exec(compile(_HEAD + text, "<test>", "exec", dont_inherit=True), namespace)
    return tuple(unittest.TestLoader().getTestCaseNames(namespace["TestCases"]))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (_CLASS + "  def test_b(self): pass\n  def test_a(self): pass\n", ("test_a", "test_b")),
        (_CLASS + "  def test_a(self): pass\n  def test_a(self): 1\n", ("test_a",)),
        (_CLASS + "  async def test_a(self): pass\n  def helper(self): pass\n", ("test_a",)),
        ("def f(self): pass\nclass TestCases(unittest.TestCase):\n  test_a = f\n  test_data = [1]\n", ("test_a",)),
        (_CLASS + "  test_a = test_b = lambda self: 0\n", ("test_a", "test_b")),
        (_CLASS + "  test_a, test_n = (lambda self: 0), 3\n", ("test_a",)),
        (_CLASS + "  test_a: object = lambda self: 0\n  test_b: int\n", ("test_a",)),
        (_CLASS + "  def f(self): pass\n  test_a = unittest.skip('why')(f)\n  test_dir = str(3)\n", ("test_a",)),
        (
            _CLASS
            + "  if 1 < 2:\n    def test_a(self): pass\n  try:\n    def test_b(self): pass\n  except ValueError: pass\n  finally:\n    def test_c(self): pass\n",
            ("test_a", "test_b", "test_c"),
        ),
        (_CLASS + "  if False:\n    def test_a(self): pass\n  else:\n    x = 1\n", ()),
        (
            "class A(unittest.TestCase):\n  def test_a(self): pass\nclass B(A):\n  def test_b(self): pass\nclass TestCases(B):\n  def test_c(self): pass\n",
            ("test_a", "test_b", "test_c"),
        ),
        (
            "class A(unittest.TestCase):\n  def test_a(self): pass\nclass B(A):\n  test_a = None\nclass C(A): pass\nclass TestCases(C, B): pass\n",
            (),
        ),
        (
            "class TestCases(unittest.TestCase):\n  def test_a(self): pass\nclass TestCases(unittest.TestCase):\n  def test_b(self): pass\n",
            ("test_b",),
        ),
        (
            _CLASS + "  def test_a(self): pass\nclass TestCases(TestCases):\n  def test_b(self): pass\n",
            ("test_a", "test_b"),
        ),
        (
            "class Other(unittest.TestCase):\n  def test_a(self): pass\nTestCases = Other\nclass More(unittest.TestCase):\n  def test_b(self): pass\n",
            ("test_a",),
        ),
        (
            "class TestCases(unittest.TestCase):\n  class Inner(unittest.TestCase):\n    def test_in(self): pass\n  def test_out(self):\n    def test_local(): pass\n",
            ("test_out",),
        ),
        (_CLASS + "  @property\n  def test_a(self): return 1\n  @staticmethod\n  def test_b(): pass\n", ("test_b",)),
        (_CLASS + "  def test_a(self): pass\n  del test_a\n", ()),
        (_CLASS + "  from os.path import join as test_join\n", ("test_join",)),
        ("if True:\n  class TestCases(unittest.TestCase):\n    def test_a(self): pass\n", ("test_a",)),
    ],
)
def test_reads_what_unittest_loads(text: str, names: tuple[str, ...]) -> None:
    """Each way to write a test method is read as unittest's loader finds it after running the text."""
    assert expected_test_ids(_HEAD + text) == names
    assert _loaded(text) == names


_NAMES = st.sampled_from(["test_a", "test_b", "testC", "helper", "setUp"])
_FORMS = ["def {}(self): pass", "async def {}(self): pass", "{} = None", "{} = lambda self: 0", "{} = function"]
_MEMBERS = st.builds(str.format, st.sampled_from([*_FORMS, "if True: {} = function"]), _NAMES)
_CLASSES = st.tuples(
    st.sampled_from(["A", "B", "TestCases"]),
    st.lists(st.sampled_from(["A", "B", "TestCases"]), max_size=1),
    st.lists(_MEMBERS, max_size=5),
)


@given(st.lists(_CLASSES, max_size=4), st.lists(_MEMBERS, max_size=4))
def test_agrees_with_unittest_on_any_chain_of_classes(
    classes: list[tuple[str, list[str], list[str]]], members: list[str]
) -> None:
    """However classes inherit, hide and redefine methods, the text says what the loader says."""
    text, defined = "def function(self): pass\n", set()
    for name, bases, body in [*classes, ("TestCases", ["A"], members)]:
        base = bases[0] if bases and bases[0] in defined else "unittest.TestCase"
        text += f"class {name}({base}):\n  pass\n" + "".join(f"  {line}\n" for line in body)
        defined.add(name)
    assert expected_test_ids(_HEAD + text) == _loaded(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def test_a(): pass\n", None),  # None tells a missing class from a class without tests
        ("TestCases = 3\n", None),
        ("class TestCases: pass\n", ()),
        # A class that cannot be made still names its own tests, so that its task fails for all of them.
        ("class A: pass\nclass TestCases(A, A):\n  def test_a(self): pass\n", ("test_a",)),
        ("class TestCases:\n  def test_a(self): return '\\d' is 3\n", ("test_a",)),
    ],
)
def test_texts_that_unittest_would_not_load(text: str, expected: tuple[str, ...] | None) -> None:
    """Old escapes are read without the warnings of newer Pythons."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert expected_test_ids(text) == expected


@pytest.mark.parametrize("text", ["class TestCases(:\n", "x = '\0'"])
def test_text_that_is_no_python_is_refused(text: str) -> None:
    """Broken text raises instead of expecting nothing."""
    with pytest.raises((SyntaxError, ValueError)):
        expected_test_ids(text)


@pytest.mark.slow
@pytest.mark.real_data
def test_counts_equal_those_of_real_executions(reference_data: Path) -> None:
    """All 1,140 tasks of BigCodeBench have as many tests as ran when their ground truths were executed."""
    with (reference_data.parent / "env" / "ground_truth.csv").open(encoding="utf-8") as file:
        ran = {row["task_id"]: int(row["tests"]) for row in csv.DictReader(file) if row["tests"]}
    tasks = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet", columns=["task_id", "test"]).to_pylist()
    read = {task["task_id"]: len(expected_test_ids(task["test"]) or ()) for task in tasks}
    assert read == ran
    assert len(read) == 1140
