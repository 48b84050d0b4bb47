"""Planning and the ledger: nothing is lost, nothing is doubled, the longest come first."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import LimitsConfig
from bigcodeflow.execution.items import LONG_SECONDS, MOST_BATCHES, WorkItem, plan_batches, raised_limit, work_item
from bigcodeflow.execution.verdicts import Ledger

from .conftest import RIGHT, TEST, item

SECONDS = st.one_of(st.floats(min_value=0.01, max_value=200), st.sampled_from([0.02, 0.3, LONG_SECONDS, 3.0]))
LIBRARIES = st.sampled_from([(), ("numpy",), ("numpy", "pandas"), ("tensorflow",)])
WORK = st.lists(st.tuples(SECONDS, LIBRARIES), max_size=300)


def _works(work: list[tuple[float, tuple[str, ...]]]) -> list[WorkItem]:
    return [
        replace(item(RIGHT), verdict_key=f"{n * 7919 % 10007:05}", expected_seconds=seconds, preload=preload)
        for n, (seconds, preload) in enumerate(work)
    ]


@given(WORK, st.integers(min_value=1, max_value=64))
def test_every_item_is_in_exactly_one_batch(work: list, slots: int) -> None:
    """Batches partition the items; long ones come first, alone and longest first; no batch of several is long."""
    items = _works(work)
    batches = plan_batches(items, slots)
    planned = [one for batch in batches for one in batch.items]
    assert sorted(one.verdict_key for one in planned) == sorted(one.verdict_key for one in items)
    long = [batch for batch in batches if batch.items[0].expected_seconds >= LONG_SECONDS]
    assert batches[: len(long)] == long
    assert all(len(batch.items) == 1 for batch in long)
    seconds = [sum(one.expected_seconds for one in batch.items) for batch in batches]
    assert seconds[: len(long)] == sorted(seconds[: len(long)], reverse=True)
    assert all(len(batch.items) == 1 or total <= 6 for batch, total in zip(batches, seconds, strict=True))
    assert len({batch.name for batch in batches}) == len(batches)


@given(WORK, st.integers(min_value=1, max_value=64))
def test_items_that_share_libraries_are_neighbours(work: list, slots: int) -> None:
    """Among the short items each set of libraries is one unbroken run, so that it is loaded once."""
    planned = [one for batch in plan_batches(_works(work), slots) for one in batch.items]
    short = [one.preload for one in planned if one.expected_seconds < LONG_SECONDS]
    assert short == sorted(short)


@given(WORK, st.randoms(use_true_random=False))
def test_the_same_items_make_the_same_batches(work: list, shuffled: Random) -> None:
    """A resumed run finds its ledgers by the batches' names, in whatever order its items come."""
    items = _works(work)
    before = [batch.name for batch in plan_batches(items, 4)]
    shuffled.shuffle(items)
    assert [batch.name for batch in plan_batches(items, 4)] == before


@pytest.mark.parametrize(
    "seconds", [[0.02], [0.5], [1.9], [5.0], [200.0], [0.02, 150.0], [2.0, 1.9, 0.1], [0.01] * 9 + [30.0]]
)
def test_the_scheduler_is_never_flooded(seconds: list[float]) -> None:
    """11,400 samples of whatever length are at most 2,000 batches, and the longest of them is still alone and first."""
    items = _works([(seconds[n % len(seconds)], ()) for n in range(10_000)])
    items += [replace(one, verdict_key=f"x{one.verdict_key}") for one in items[:1400]]
    batches = plan_batches(items, 6)
    assert len(batches) <= MOST_BATCHES
    assert sum(len(batch.items) for batch in batches) == 11_400
    if max(seconds) >= LONG_SECONDS:
        assert len(batches[0].items) == 1
    assert batches[0].items[0].expected_seconds == max(seconds) or max(seconds) < LONG_SECONDS


def test_many_short_items_fill_every_slot() -> None:
    """Work for all slots is not packed into a few batches."""
    items = [replace(item(RIGHT), verdict_key=str(n), expected_seconds=0.1) for n in range(200)]
    assert len(plan_batches(items, slots=4)) >= 4 * 6


def test_a_torn_line_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    """A kill in the middle of a write costs that verdict only."""
    ledger = Ledger(tmp_path)
    for key in "abc":
        ledger.append({"verdict_key": key, "status": "pass"}, "batch")
    file = next(tmp_path.glob("*/*"))
    file.write_bytes(file.read_bytes()[:-5])
    Ledger(tmp_path).append({"verdict_key": "d", "status": "infra_error"}, "batch")
    assert {line["verdict_key"] for line in Ledger(tmp_path).read()} == {"a", "b", "d"}
    assert len(list(Ledger(tmp_path).read("batch"))) == 3
    assert list(Ledger(tmp_path).read("other")) == []


def test_verdicts_survive_any_text(tmp_path: Path) -> None:
    """Output of a program may hold anything, line ends of every kind included."""
    text = "a\nb\r\u2028\x00\ud800"
    Ledger(tmp_path).append({"verdict_key": "k", "status": "pass", "stdout": text}, "batch")
    assert next(Ledger(tmp_path).read())["stdout"] == text


def _key(**changes: object) -> str:
    task = {"test": TEST, "expected_tests": ["a"], "complete_prompt": "", "canonical_solution": ""}
    given_: dict = {"program": RIGHT, "task": task, "missing_imports": frozenset(), "limits": LimitsConfig()}
    return work_item(**({"environment_sha": "s"} | given_ | changes)).verdict_key


def test_the_key_is_the_content() -> None:
    """Equal work has one key; program, test, environment and limits each make another."""
    assert _key() == _key(missing_imports=frozenset({"numpy"})) == _key(ground_truth_cpu_seconds=240.0)
    kept = {_key(), _key(limits=LimitsConfig(output_kib=1)), _key(allow_unisolated=True), _key(fail_fast=True)}
    assert len(kept) == 4
    assert _key(fail_fast=False) in kept
    others = {
        _key(program="x"),
        _key(task={"test": "x", "expected_tests": ["a"], "complete_prompt": "", "canonical_solution": ""}),
        _key(task={"test": TEST, "expected_tests": ["b"], "complete_prompt": "", "canonical_solution": ""}),
        _key(environment_sha="t"),
        _key(limits=LimitsConfig(memory_mib=100)),
        _key(ground_truth_cpu_seconds=1000.0),
    }
    assert len(others | {_key()}) == 7


def test_a_lone_surrogate_has_a_key() -> None:
    """A model's text may be no valid Unicode."""
    assert json.loads(json.dumps(_key(program="\ud800")))


@pytest.mark.parametrize(
    ("ground_truth", "limit"), [(0.0, 240.0), (240.0, 240.0), (241.0, 480.0), (384.0, 480.0), (385.0, 960.0)]
)
def test_a_slow_ground_truth_raises_the_limit_in_steps(ground_truth: float, limit: float) -> None:
    """The limit doubles until the known CPU time fits with a quarter to spare, so that few values are possible."""
    assert raised_limit(240.0, ground_truth) == limit
    task = {"test": TEST, "expected_tests": ["a"], "complete_prompt": "", "canonical_solution": ""}
    work = work_item(
        program="",
        task=task,
        missing_imports=frozenset(),
        environment_sha="",
        limits=LimitsConfig(),
        ground_truth_cpu_seconds=ground_truth,
    )
    assert work.time_seconds == limit + 1
