"""Changes from night to night, set against the comparison that tests the same runs."""

from datetime import datetime

import pytest

from bigcodeflow.explorer.catalog import Catalog
from bigcodeflow.explorer.changes import changes_of, worse
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.comparison.comparison import compare
from bigcodeflow.results.comparison.run_selection import open_runs
from tests.explorer.conftest import record_night


def changes(recorded):
    rebuild_catalog(recorded.root)
    return changes_of(Catalog(recorded.root).version())


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


def test_many_series_are_adjusted_for_one_another(recorded):
    """A drop that is significant alone is not among many that stay."""
    for model in range(12):
        record_night(recorded, f"m{model}", set())
        record_night(recorded, f"m{model}", set(range(6)) if model == 0 else set())
    found = changes(recorded)
    dropped = next(change for change in found if change.difference)
    assert dropped.p < 0.05 < dropped.p_holm
    assert not worse(found)


def test_only_runs_of_the_same_thing_are_set_beside_one_another(recorded):
    """Name, model, subset and split; the latest two of each, and tasks that both judged."""
    for model in ("a", "b"):
        record_night(recorded, model, {1})
    record_night(recorded, "a", {1}, split="instruct")
    record_night(recorded, "a", {2}, run="other name")
    assert changes(recorded) == []
    record_night(recorded, "a", {1, 2}, n_tasks=10)
    [change] = changes(recorded)
    assert (change.n_tasks, change.n_worse, change.n_better) == (10, 1, 0)
    assert isinstance(change.later.started_at, datetime)
    assert change.cause == "other answers, another dataset"
