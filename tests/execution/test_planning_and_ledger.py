"""Planning and the ledger: nothing is lost, nothing is doubled, the longest come first."""

import csv
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.paths import shipped
from bigcodeflow.execution import costs
from bigcodeflow.execution.costs import LONG_SECONDS, in_order
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.judge.items import WorkItem, raised_limit, scaled_limit, work_item

from .conftest import RIGHT, TEST, item

SECONDS = st.one_of(st.floats(min_value=0.01, max_value=200), st.sampled_from([0.02, 0.3, LONG_SECONDS, 3.0]))
LIBRARIES = st.sampled_from([(), ("numpy",), ("numpy", "pandas"), ("tensorflow",)])
WORK = st.lists(st.tuples(SECONDS, LIBRARIES), max_size=300)


def _works(work: list[tuple[float, tuple[str, ...]]]) -> list[WorkItem]:
    return [
        replace(item(RIGHT), verdict_key=f"{n * 7919 % 10007:05}", expected_seconds=seconds, preload=preload)
        for n, (seconds, preload) in enumerate(work)
    ]


@given(WORK, st.randoms(use_true_random=False))
def test_items_have_one_order(work: list, shuffled: Random) -> None:
    """Long ones come first, the longest before all; of the others each set of libraries is one unbroken run."""
    works = _works(work)
    ordered = in_order(works)
    assert sorted(one.verdict_key for one in ordered) == sorted(one.verdict_key for one in works)
    long = [one for one in ordered if one.expected_seconds >= LONG_SECONDS]
    assert ordered[: len(long)] == sorted(long, key=lambda one: (-one.expected_seconds, one.verdict_key))
    preloads = [one.preload for one in ordered[len(long) :]]
    assert preloads == sorted(preloads)
    shuffled.shuffle(works)
    assert in_order(works) == ordered


def test_tasks_that_take_long_are_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what ships of their ground truths; all others, and tasks that are not known, stay in their order."""
    monkeypatch.setattr(costs, "sha256_of_test", lambda task: task["sha256"])
    with shipped("data/bigcodebench/durations.csv").open(encoding="utf-8", newline="") as file:
        seconds = {row["test_sha256"]: float(row["wall_seconds"]) for row in csv.DictReader(file)}
    tasks = [{"sha256": "unknown"}, *({"sha256": sha256} for sha256 in seconds)]
    asked = [seconds.get(task["sha256"], 0.0) for task in sorted(tasks, key=costs.longest_first)]
    long = sorted((one for one in seconds.values() if one >= LONG_SECONDS), reverse=True)
    assert 0 < len(long) < len(tasks)
    assert asked == [*long, 0.0, *(one for one in seconds.values() if one < LONG_SECONDS)]


def _keys_in(lines: Iterable[dict]) -> list[str]:
    return sorted(line["verdict_key"] for line in lines)


def test_a_torn_line_is_dropped_and_the_rest_kept(tmp_path: Path) -> None:
    """A kill in the middle of a write costs that verdict only."""
    ledger = Ledger(tmp_path)
    for key in ("aa1", "aa2", "aa3"):
        ledger.append({"verdict_key": key, "status": "pass"})
    file = next(tmp_path.glob("*/*"))
    file.write_bytes(file.read_bytes()[:-5])
    Ledger(tmp_path).append({"verdict_key": "aa4", "status": "infra_error"})
    assert _keys_in(Ledger(tmp_path).read()) == ["aa1", "aa2", "aa4"]


def test_verdicts_are_found_by_their_keys(tmp_path: Path) -> None:
    """Whoever wrote them, lines restored from another machine included; a worker can leave its own out."""
    ledger, other = Ledger(tmp_path), Ledger(tmp_path)
    ledger.append({"verdict_key": "aa1"})
    other.append({"verdict_key": "aa2"})
    other.append({"verdict_key": "bb1"})
    (tmp_path / "restored").mkdir()
    (tmp_path / "restored" / "segment.jsonl").write_text('{"verdict_key": "aa3"}\n')
    assert _keys_in(ledger.find({"aa1", "aa2", "aa3", "cc1"})) == ["aa1", "aa2", "aa3"]
    assert _keys_in(ledger.find({"aa1", "bb1"}, own=False)) == ["bb1"]
    assert _keys_in(ledger.read()) == ["aa1", "aa2", "aa3", "bb1"]


def test_verdicts_survive_any_text(tmp_path: Path) -> None:
    """Output of a program may hold anything, line ends of every kind included."""
    text = "a\nb\r\u2028\x00\ud800"
    Ledger(tmp_path).append({"verdict_key": "k", "status": "pass", "stdout": text})
    assert next(Ledger(tmp_path).read())["stdout"] == text


TASK = {"test": TEST, "expected_tests": ["a"]}


def _work(**changes: object) -> WorkItem:
    given_: dict = {"program": RIGHT, "task": TASK, "missing_imports": frozenset(), "limits": LimitsConfig()}
    return work_item(**({"environment_sha": "s"} | given_ | changes))


def _key(**changes: object) -> str:
    return _work(**changes).verdict_key


def test_the_key_is_the_content() -> None:
    """Equal work has one key; program (a lone surrogate too), test, environment and limits each make another."""
    assert _key() == _key(missing_imports=frozenset({"numpy"})) == _key(ground_truth_cpu_seconds=240.0)
    kept = {_key(), _key(limits=LimitsConfig(output_kib=1)), _key(allow_unisolated=True), _key(fail_fast=True)}
    assert len(kept) == 4
    assert _key(fail_fast=False) in kept
    others = {
        _key(program="\ud800"),
        _key(task=TASK | {"test": "x"}),
        _key(task=TASK | {"expected_tests": ["b"]}),
        _key(environment_sha="t"),
        _key(limits=LimitsConfig(memory_mib=100)),
        _key(ground_truth_cpu_seconds=1000.0),
    }
    assert len(others | {_key()}) == 7


@pytest.mark.parametrize(
    ("ground_truth", "limit"), [(0.0, 240.0), (240.0, 240.0), (241.0, 480.0), (384.0, 480.0), (385.0, 960.0)]
)
def test_a_slow_ground_truth_raises_the_limit_in_steps(ground_truth: float, limit: float) -> None:
    """The limit doubles until the known CPU time fits with a quarter to spare, so that few values are possible."""
    assert raised_limit(240.0, ground_truth) == limit
    assert _work(ground_truth_cpu_seconds=ground_truth).time_seconds == limit + 1


@pytest.mark.parametrize(
    ("reference", "limit"), [(0.0, 10.0), (0.5, 10.0), (0.51, 20.0), (1.0, 20.0), (7.9, 160.0), (8.1, 320.0)]
)
def test_a_scaled_limit_has_few_values(reference: float, limit: float) -> None:
    """Ten seconds, doubled until twenty times the reference fits: a time that is measured anew rarely changes a key."""
    assert scaled_limit(reference) == limit


def test_a_time_policy_is_in_the_key_where_it_changes_the_limit() -> None:
    """A slow task has the whole limit either way; without a reference nothing is scaled."""
    scaled = LimitsConfig(time_policy="scaled")
    assert _key(limits=scaled) == _key(limits=scaled, reference_seconds=20.0) == _key(reference_seconds=0.1) == _key()
    assert len({_key(limits=scaled, reference_seconds=seconds) for seconds in (0.1, 0.4, 1.0, 20.0)}) == 3
