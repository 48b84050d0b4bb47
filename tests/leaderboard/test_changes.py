"""What differs between two leaderboards, and what counts as a regression."""

import shutil

import pytest

from bigcodeflow.leaderboard.history import changes
from bigcodeflow.leaderboard.measured_entries import measured_entries
from tests.leaderboard.conftest import ALLOW


def entries_of(lab):
    return measured_entries(lab.store.root, allow=ALLOW).entries


def moved(lab, **after):
    """The change from a run that passes 100 of 148 tasks to another one of the same model."""
    lab.run(passing=100)
    before = entries_of(lab)
    lab.run(**after)
    return before, entries_of(lab)


def test_new_gone_changed_unchanged(tmp_path, entry, published):
    """Each entry is listed once, the largest drop first; the same model from both origins is two entries."""
    before = [*(entry(model=model) for model in "abdef"), published("a", 0.5)]
    scores = {"a": 0.52, "c": 0.5, "d": 0.5, "e": 0.45, "f": 0.4}
    after = [*(entry(model=model, pass_at_1=score) for model, score in scores.items()), published("a", 0.5)]
    found = changes(before, after, store_root=tmp_path)
    assert [new.model for new in found.new] == ["c"]
    assert [gone.model for gone in found.gone] == ["b"]
    assert [change.after.model for change in found.changed] == ["f", "e", "a"]
    assert found.unchanged == 2


@pytest.mark.parametrize(
    ("passing", "lost", "regression"),
    [
        (100, 5, False),
        (100, 6, True),
        (105, 7, False),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in ((100, 4, False), (100, 20, True), (140, 0, False))),
    ],
)
def test_a_drop_beyond_chance_is_a_regression(lab, passing, lost, regression):
    """Six verdicts from pass to fail are more than chance (exact p = 0.031), 5 are not (p = 0.0625).

    Neither are 7 lost beside 5 won, although the score falls by more than a point, and a rise is none.
    """
    before, after = moved(lab, passing=passing, failing=range(lost))
    [change] = changes(before, after, store_root=lab.store.root).changed
    assert change.difference == pytest.approx((passing - 100 - lost) / 148)
    assert change.interval.low < change.difference < change.interval.high
    assert change.regression is regression


@pytest.mark.parametrize(("drop", "regression"), [(0.01, False), (0.0101, True)])
def test_without_verdicts_the_drop_decides(tmp_path, entry, drop, regression):
    """Where the tasks cannot be compared one by one, more than --max-drop points are a regression."""
    before, after = [entry(pass_at_1=0.5)], [entry(pass_at_1=0.5 - drop)]
    [change] = changes(before, after, store_root=tmp_path).changed
    assert (change.interval, change.regression) == (None, regression)
    assert not changes(before, after, store_root=tmp_path, max_drop_points=2).regressions


def test_verdicts_that_are_gone_are_not_made_up(lab):
    """After an artifact was deleted the interval is unknown; the drop of 20 of 148 tasks still counts."""
    before, after = moved(lab, failing=range(20))
    shutil.rmtree(lab.store.folder("execution", before[0].run.artifacts["execution"]))
    [change] = changes(before, after, store_root=lab.store.root).changed
    assert (change.interval, change.regression) == (None, True)


def test_a_cause_that_is_known_is_named(lab):
    """Another environment is named beside the change."""
    before, after = moved(lab, failing=range(9), environment="f" * 64)
    [change] = changes(before, after, store_root=lab.store.root).changed
    assert "another environment" in change.cause


def test_several_samples_are_compared_by_task(lab):
    """Five samples a task: shares are paired, and six tasks that lost all five are as sure as six that lost one of one."""
    lab.run(passing=100, samples=5, config={"generation": {"n_samples": 5}})
    before = entries_of(lab)
    lab.run(passing=100, failing=range(6), samples=5, config={"generation": {"n_samples": 5}})
    [change] = changes(before, entries_of(lab), store_root=lab.store.root).changed
    assert change.regression
    assert change.interval.low < change.difference < change.interval.high < 0
