"""Values that a test computes by itself: which are recorded, and how a variant holds them."""

import sys

import pytest

from bigcodeflow.judge.expected_tests import expected_test_ids
from bigcodeflow.judge.integrity.altered_tests import contradict, disguise
from bigcodeflow.judge.integrity.contradictions import Contradictions, Reference, _recorded_pins, completed
from bigcodeflow.judge.integrity.recorded_operands import read_recording, recording_text
from bigcodeflow.judge.items import WorkItem
from tests.doubles.written_tests import outcome, suite

from .conftest import item

COMPUTED = """
def setUp(self):
    self.base = [1, 2, 3]
def total(self, values):
    return sum(values) * 2
def test_closed(self):
    result = task_func(4)
    expected = self.total([1, 2])
    self.assertEqual(result, expected)
def test_given(self):
    self.assertEqual(task_func(self.base), sum(self.base))
def test_random(self):
    import random
    self.assertEqual(task_func(4), random.random())
def test_literal(self):
    self.assertEqual(task_func(4), 6)
    with self.assertRaises(ValueError), self.subTest(1):
        task_func("x")
    with self.assertRaises(ValueError):
        self.assertEqual(task_func(4), self.total([5]))
"""


def recorded(text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(sys, "__stdout__", sys.stdout)
    recording = recording_text(text, "task_func")
    assert recording is not None
    names: dict[str, object] = {}
    exec("def task_func(*_):\n    return None\n" + recording, names)
    case = names["TestCases"]
    for name in sorted(one for one in dir(case) if one.startswith("test")):
        one = case(name)
        one.setUp()
        getattr(one, name)()
    return read_recording("noise\n" + capsys.readouterr().out)


def test_only_what_the_test_alone_computes_is_recorded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not values that change by themselves, that are literals already, or that a program may change in place."""
    text = suite(COMPUTED)
    assert sorted(recorded(text, capsys, monkeypatch).values()) == ["10", "6"]


def test_a_recorded_value_is_stated_or_contradicted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A correct program passes the restated method and fails the contradicted one, and no helper decides either."""
    text = suite(COMPUTED[: COMPUTED.index("def test_given")])
    pins = recorded(text, capsys, monkeypatch)
    program = "def task_func(_):\n    return 6\n"
    for kind in ("contradiction", "restatement"):
        found = disguise(text, "task_func", kind, variant=0, pins=pins)
        (one,) = found.alterations
        assert outcome(found.text, program) == {"test_closed": "pass" if kind == "restatement" else "fail"}
        assert one.before == "self.total([1, 2])"
        assert (eval(one.after) == 6) == (kind == "restatement")
    assert contradict(text, "task_func", variant=0).alterations


def test_sites_with_several_values_are_not_pinned() -> None:
    """A literal could hold one of them only."""
    lines = ['["3:1", "1"]', '["3:1", "2"]', '["4:1", "5"]', '["5:1", "f()"]', "["]
    assert read_recording("\n".join(f"@recorded-operand@ {line}" for line in lines)) == {"4:1": "5"}


def test_what_could_not_be_recorded_is_recorded_again() -> None:
    """An execution that failed by the machine's fault says nothing of the values, and is not remembered."""
    text = suite(COMPUTED)
    task = {"task_id": "T/0", "test": text, "entry_point": "task_func", "expected_tests": expected_test_ids(text)}
    references = {"T/0": Reference(task, lambda program, test: item(program or "", test), "def task_func(): pass")}
    statuses, executed, known = iter(["infra_error", "fail"]), [], Contradictions()

    def execute(items: list[WorkItem]) -> dict[str, dict]:
        executed.append(len(items))
        return {one.verdict_key: {"status": next(statuses), "stdout": "", "stdout_truncated": False} for one in items}

    for _ in range(3):
        assert completed(_recorded_pins(references, known), execute) == {"T/0": {}}
    assert executed == [1, 1]
