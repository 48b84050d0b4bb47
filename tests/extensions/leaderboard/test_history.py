"""Snapshots: dated, content-addressed, whole or not there; what differs between two, and what is a regression."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow_leaderboard.history import (
    changes,
    find_snapshot,
    read_snapshot,
    record_snapshot,
    snapshot_of,
    snapshot_paths,
)
from bigcodeflow_leaderboard.measured_entries import measured_entries
from tests.extensions.leaderboard.conftest import ALLOW

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_a_snapshot_comes_back_as_it_was(tmp_path, entry, published):
    """Every field of every entry, whatever order they were given in."""
    entries = [published("Nova-7B", 0.5), entry(pass_at_1=0.4), entry(subset="hard", n_tasks=148)]
    taken = record_snapshot(tmp_path, entries, NOON)
    [path] = snapshot_paths(tmp_path)
    assert path.name == f"20261122T120000.000000Z-{taken.content_sha256[:12]}.json"
    assert read_snapshot(path) == taken
    assert sorted(taken.entries, key=lambda e: e.identity) == sorted(entries, key=lambda e: e.identity)
    assert record_snapshot(tmp_path, entries[::-1], NOON + timedelta(1)) == taken


def test_only_another_content_is_another_snapshot(tmp_path, entry):
    """The same content in a row is one snapshot with its first date; going back to an older content is a new one."""
    contents = [[entry(pass_at_1=score)] for score in (0.5, 0.5, 0.6, 0.5)]
    taken = [record_snapshot(tmp_path, content, NOON + timedelta(hours=n)) for n, content in enumerate(contents)]
    assert taken[0] == taken[1]
    assert [path.stem for path in snapshot_paths(tmp_path)] == [taken[n].name for n in (0, 2, 3)]
    assert taken[0].content_sha256 == taken[3].content_sha256


def test_a_snapshot_that_is_only_made_is_not_in_the_history(tmp_path, entry):
    """Before the first publication there is no latest, and the message says what to do."""
    snapshot_of(tmp_path, [entry()], NOON)
    assert snapshot_paths(tmp_path) == []
    with pytest.raises(ConfigError, match="bigcodeflow leaderboard write"):
        find_snapshot(tmp_path, "latest")


def test_snapshots_are_found_by_name(tmp_path, entry):
    """By place, by the beginning of name or content; an unknown or ambiguous name lists what is there."""
    first, second = (
        record_snapshot(tmp_path, [entry(pass_at_1=score)], NOON + timedelta(days=days))
        for days, score in enumerate((0.5, 0.6))
    )
    assert find_snapshot(tmp_path, "latest") == find_snapshot(tmp_path, "20261123") == second
    assert find_snapshot(tmp_path, "previous") == find_snapshot(tmp_path, first.content_sha256) == first
    for name in ("2026", "nothing", ""):
        with pytest.raises(ConfigError, match=rf"'{name}' fits .*{second.name}"):
            find_snapshot(tmp_path, name)


@pytest.mark.parametrize("change", ["score", "text", "extra"])
def test_a_changed_snapshot_is_not_believed(tmp_path, entry, change):
    """History that was edited by hand is named instead of being compared with."""
    record_snapshot(tmp_path, [entry()], NOON)
    [path] = snapshot_paths(tmp_path)
    content = json.loads(path.read_text())
    content["entries"][0]["pass_at_1"] = 0.9
    text = {"score": json.dumps(content), "text": "{", "extra": json.dumps({**content, "more": 1})}[change]
    path.write_text(text)
    with pytest.raises(ArtifactError, match=r"\.json: (was changed|is not a leaderboard snapshot)"):
        find_snapshot(tmp_path, "latest")


@pytest.mark.slow
def test_twins_that_publish_the_same_make_one_snapshot(tmp_path, entry):
    """Four at once, twenty times over: one file each time."""
    barrier = threading.Barrier(4)

    def record(score):
        barrier.wait()
        record_snapshot(tmp_path, [entry(pass_at_1=score)], datetime.now(UTC))

    for number in range(20):
        with ThreadPoolExecutor(4) as twins:
            list(twins.map(record, [number / 100] * 4))
    scores = [read_snapshot(path).entries[0].pass_at_1 for path in snapshot_paths(tmp_path)]
    assert scores == [number / 100 for number in range(20)]


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
