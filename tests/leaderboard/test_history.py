"""Snapshots: dated, content-addressed, whole or not there."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.leaderboard.history import find_snapshot, read_snapshot, record_snapshot, snapshot_of, snapshot_paths

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
