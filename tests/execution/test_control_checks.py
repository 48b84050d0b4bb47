"""What the controls of an environment find: offenders are named, known gaps of the benchmark are told apart."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.core.schemas import TASKS, VERDICTS
from bigcodeflow.execution.environment_check import check_never_passes, check_oracle, check_tests_run, wording

from .conftest import row_of, rows_of


def _verdicts(**statuses: str) -> pa.Table:
    test = {"name": "test_a", "seconds": 0.0, "trace": ""}
    given = {"exit": "exit 1", "tests_run": 1, "tests_expected": 1}
    rows = [
        row_of(VERDICTS, task_id=task_id, status=status, tests=[test | {"outcome": status}], **given)
        for task_id, status in statuses.items()
    ]
    return rows_of(VERDICTS, *rows)


def _tasks(**tests: str) -> pa.Table:
    return rows_of(TASKS, *(row_of(TASKS, task_id=task_id, test=test) for task_id, test in tests.items()))


def test_the_oracle_passes_or_is_named() -> None:
    """Tasks whose own solution does not pass are counted and named with what happened."""
    found = check_oracle(_verdicts(a="pass", b="fail", c="infra_error"))
    assert wording(found) == ["oracle: 1 of 3 pass", "control oracle failed: b fail, c infra_error: exit 1"]
    assert wording(check_oracle(_verdicts(a="pass"))) == ["oracle: 1 of 1 pass"]


def test_a_pass_with_fewer_tests_than_expected_is_an_offence() -> None:
    """A ground truth that passes must have run each expected test; one that fails is the oracle's business."""
    table = _verdicts(a="pass", b="fail", c="pass")
    rows = table.to_pylist()
    found = check_tests_run(rows_of(VERDICTS, *rows[:2], rows[2] | {"tests_run": 0}))
    assert (found.held, found.tasks, [one.task_id for one in found.offences]) == (1, 2, ["c"])
    assert "c 1 of 1 tests passed, 0 ran" in wording(found)[1]
    assert len(check_tests_run(rows_of(VERDICTS, *(row | {"tests": []} for row in rows))).offences) == 2
    assert not check_tests_run(table).offences


def test_a_stub_or_cheat_that_passes_is_named_with_its_attack() -> None:
    """Failing in any way is in order; passing is not, nor is not being judged where the ground truth is."""
    verdicts = _verdicts(a="fail", b="pass", c="infra_error", d="infra_error", e="tampered", f="crash")
    tasks = _tasks(**dict.fromkeys("abcdef", "text"))
    found = check_never_passes("cheat", verdicts, tasks, frozenset("abce"), names={"b": "test skipped"})
    assert wording(found) == [
        "cheat: 4 of 6 do not pass",
        "control cheat failed: b passes (test skipped), c infra_error: exit 1",
    ]


@pytest.mark.real_data
def test_tests_that_assert_nothing_are_a_known_gap(reference_data) -> None:
    """Tasks 59 and 272 pass whatever is judged: reported as such, not as an offence, and only with those very tests."""
    rows = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet", columns=["task_id", "test"]).to_pylist()
    text = next(row["test"] for row in rows if row["task_id"] == "BigCodeBench/272")
    known = check_never_passes("stub", _verdicts(a="pass"), _tasks(a=text), frozenset("a"), names={})
    assert (list(known.offences), [one.task_id for one in known.vacuous]) == ([], ["a"])
    assert wording(known) == [
        "stub: 0 of 1 do not pass; 1 pass whatever is judged (a: its test never calls the function)"
    ]
    other = check_never_passes("stub", _verdicts(a="pass"), _tasks(a=text + "#"), frozenset("a"), names={})
    assert len(other.offences) == 1


def test_many_offenders_are_counted() -> None:
    """Twelve are named, the rest is a number."""
    verdicts = _verdicts(**{f"t{number:02}": "pass" for number in range(20)})
    tasks = _tasks(**{f"t{number:02}": "" for number in range(20)})
    assert wording(check_never_passes("stub", verdicts, tasks, frozenset(), names={}))[1].endswith("and 8 more")
