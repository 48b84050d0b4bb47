"""Changes from night to night, set against the comparison that tests the same runs."""

import json
from datetime import datetime

import pytest

from bigcodeflow.explorer.catalog import Catalog
from bigcodeflow.explorer.changes import changes_of
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.comparison.comparison import compare
from bigcodeflow.results.comparison.run_selection import open_runs
from tests.explorer.conftest import record_night
from tests.results.comparison.conftest import judged_by
from tests.results.conftest import write_record


def changes(recorded):
    rebuild_catalog(recorded.root)
    catalog = Catalog(recorded.root)
    return changes_of(catalog, catalog.version())


def test_a_change_is_what_the_comparison_finds(recorded):
    """McNemar's p, Tango's interval and both scores, for one sample a task."""
    earlier = record_night(recorded, "m", {1, 2, 3}, n_tasks=40)
    later = record_night(recorded, "m", set(range(3, 15)), n_tasks=40)
    [change] = changes(recorded)
    [pair] = compare(open_runs(recorded.root, [later, earlier]), k=[1]).pairs
    assert (change.p, change.difference) == pytest.approx((pair.p, pair.difference))
    assert tuple(change.interval) == pytest.approx(tuple(pair.interval))
    assert (change.n_worse, change.n_better) == (pair.n_second_better, pair.n_first_better) == (11, 2)
    assert (change.later_score, change.earlier_score) == pytest.approx((pair.first_score, pair.second_score))


@pytest.mark.slow
def test_many_series_are_adjusted_for_one_another(recorded):
    """A drop that is significant alone is not among many that stay."""
    for model in range(4):
        record_night(recorded, f"m{model}", set())
        record_night(recorded, f"m{model}", set(range(6)) if model == 0 else set())
    found = changes(recorded)
    dropped = next(change for change in found if change.difference)
    assert dropped.p < 0.05 < dropped.p_holm
    assert not any(change.is_worse for change in found)


def test_only_runs_that_ask_the_same_are_set_beside_one_another(recorded):
    """Model, split, tasks, sampling, limits and variant are the same; how the run was started or called is free."""
    asked = {"samples": {"source": "model"}, "generation": {"model": "openai:a", "sampling": {"temperature": 0.0}}}
    warm = {**asked, "generation": {"model": "openai:a", "sampling": {"temperature": 0.3}}}
    elsewhere = {**asked, "generation": {**asked["generation"], "base_url": "http://127.0.0.1:8001/v1"}}
    record_night(recorded, "a", {1}, asked=asked)
    for changes_of_run in (
        {"model": "b"}, {"split": "instruct"}, {"n_tasks": 10}, {"asked": warm}, {"asked": elsewhere}, {"asked": {}},
        {"execution": {"limits": {"time_seconds": 5.0}}}, {"execution": {"integrity": "off"}}, {"variants": ("raw",)},
        {"test": "import unittest\n"},
    ):  # fmt: skip
        facts = {"model": "a", "asked": asked} | changes_of_run
        record_night(recorded, facts.pop("model"), {1}, **facts)
        assert changes(recorded) == [], changes_of_run
    record_night(recorded, "a", {1, 2}, asked=asked, run="started by a sweep")
    [change] = changes(recorded)
    assert (change.n_tasks, change.n_worse, change.n_better) == (20, 1, 0)
    assert isinstance(change.later.started_at, datetime)
    assert change.cause == "answered again"


def test_another_environment_or_judge_is_named_as_a_cause(recorded):
    """A series goes on with them."""
    for sha, version in (("e", 2), ("f", 3)):
        record_night(recorded, "m", {1}, settings=judged_by(version, sha))
    [change] = changes(recorded)
    assert change.cause == "answered again, another environment, another version of the judge"


@pytest.mark.slow
def test_a_run_repeated_as_it_was_hides_no_drop(recorded):
    """The latest run is set beside the last one with other verdicts."""
    record_night(recorded, "m", set(), n_tasks=40)
    record = record_night(recorded, "m", set(range(12)), n_tasks=40)
    content = json.loads((recorded.store.root / "runs" / f"{record}.json").read_text())
    write_record(recorded.store, "repeated", **content | {"started_at": "2999-01-01T00:00:00Z"})
    [change] = changes(recorded)
    assert (change.later.record, change.n_worse, change.is_worse) == ("repeated", 12, True)


@pytest.mark.slow
def test_quarantined_tasks_that_a_run_leaves_out_count_for_nothing(recorded):
    """As in the comparison of the two runs."""
    flaky = {f"Demo/{number}" for number in range(10)}
    for failing in (set(), set(range(11))):
        record_night(
            recorded, "m", failing, n_tasks=40, execution={"quarantine": "exclude"}, quarantine={"tasks": sorted(flaky)}
        )
    [change] = changes(recorded)
    assert (change.n_tasks, change.n_worse, change.is_worse) == (30, 1, False)


@pytest.mark.slow
def test_few_tasks_of_several_samples_are_no_proof(recorded):
    """As in the comparison: of two tasks that got worse alike, chance explains one night in two."""
    record_night(recorded, "m", {0: 1, 1: 2}, n_samples=5)
    record_night(recorded, "m", {0: 2, 1: 3}, n_samples=5)
    [change] = changes(recorded)
    assert change.n_worse == 2
    assert change.p == pytest.approx(0.5, abs=0.05)


def test_a_model_counts_once_whatever_its_settings(explore):
    """The share that passes a task is a mean over models, and of each over its settings."""
    for temperature in (0.0, 0.5, 1.0):
        generation = {"model": "openai:a", "sampling": {"temperature": temperature}}
        record_night(explore.recorded, "a", {0, 1}, asked={"samples": {"source": "model"}, "generation": generation})
    record_night(explore.recorded, "b", {1})
    explore.rebuild()
    shares = explore.catalog.version().pass_shares
    assert [shares[f"Demo/{number}"] for number in range(3)] == [0.5, 0.0, 1.0]
