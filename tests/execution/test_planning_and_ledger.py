"""Planning and the ledger: nothing is lost, nothing is doubled, the longest come first."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import LimitsConfig
from bigcodeflow.execution.items import work_item
from bigcodeflow.execution.ledger import LedgerWriter, final_keys, read_ledger
from bigcodeflow.execution.planning import plan_batches

from .conftest import RIGHT, TEST, item

DURATIONS = st.lists(st.floats(min_value=0.01, max_value=200), max_size=300)


@given(DURATIONS, st.integers(min_value=1, max_value=64))
def test_every_item_is_in_exactly_one_batch(durations: list[float], slots: int) -> None:
    """Batches partition the items, longest first, and no batch of several is long."""
    items = [replace(item(RIGHT), verdict_key=str(n), expected_seconds=s) for n, s in enumerate(durations)]
    batches = plan_batches(items, slots)
    planned = [work.verdict_key for batch in batches for work in batch.items]
    assert sorted(planned) == sorted(work.verdict_key for work in items)
    flat = [work.expected_seconds for batch in batches for work in batch.items]
    assert flat == sorted(flat, reverse=True)
    assert all(len(batch.items) == 1 or batch.expected_seconds <= 10 for batch in batches)
    assert len({batch.name for batch in batches}) == len(batches)


def test_many_short_items_fill_every_slot() -> None:
    """Work for all slots is not packed into a few batches."""
    items = [replace(item(RIGHT), verdict_key=str(n), expected_seconds=0.1) for n in range(200)]
    assert len(plan_batches(items, slots=4)) >= 4 * 6


def test_a_torn_line_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    """A kill in the middle of a write costs that verdict only."""
    writer = LedgerWriter(tmp_path, "batch")
    for key in "abc":
        writer.append({"verdict_key": key, "status": "pass"})
    file = next(tmp_path.iterdir())
    file.write_bytes(file.read_bytes()[:-5])
    LedgerWriter(tmp_path, "batch").append({"verdict_key": "d", "status": "infra_error"})
    assert {line["verdict_key"] for line in read_ledger(tmp_path)} == {"a", "b", "d"}
    assert final_keys(read_ledger(tmp_path, "batch")) == {"a", "b"}
    assert list(read_ledger(tmp_path, "other")) == []


def test_verdicts_survive_any_text(tmp_path: Path) -> None:
    """Output of a program may hold anything, line ends of every kind included."""
    text = "a\nb\r\u2028\x00\ud800"
    LedgerWriter(tmp_path, "batch").append({"verdict_key": "k", "status": "pass", "stdout": text})
    assert next(read_ledger(tmp_path))["stdout"] == text


def _key(**changes: object) -> str:
    task = {"test": TEST, "expected_tests": ["a"]}
    given_: dict = {
        "program": RIGHT,
        "task": task,
        "task_modules": frozenset(),
        "environment_sha": "s",
        "limits": LimitsConfig(),
    }
    return work_item(**(given_ | changes)).verdict_key


def test_the_key_is_the_content() -> None:
    """Equal work has one key; program, test, environment and limits each make another."""
    assert _key() == _key(task_modules=frozenset({"numpy"})) == _key(ground_truth_seconds=3.0)
    assert _key(limits=LimitsConfig(output_kib=1)) == _key()
    others = {
        _key(program="x"),
        _key(task={"test": "x", "expected_tests": ["a"]}),
        _key(task={"test": TEST, "expected_tests": ["b"]}),
        _key(environment_sha="t"),
        _key(limits=LimitsConfig(memory_mib=100)),
        _key(ground_truth_seconds=1000.0),
    }
    assert len(others | {_key()}) == 7


def test_a_lone_surrogate_has_a_key() -> None:
    """A model's text may be no valid Unicode."""
    assert json.loads(json.dumps(_key(program="\ud800")))


@pytest.mark.parametrize(("ground_truth", "limit"), [(None, 241.0), (3.0, 241.0), (500.0, 501.0)])
def test_a_slow_ground_truth_raises_the_limit(ground_truth: float | None, limit: float) -> None:
    """The original allows max(limit, ground truth) + 1 s."""
    task = {"test": TEST, "expected_tests": ["a"]}
    work = work_item(
        program="",
        task=task,
        task_modules=frozenset(),
        environment_sha="",
        limits=LimitsConfig(),
        ground_truth_seconds=ground_truth,
    )
    assert work.time_seconds == limit
