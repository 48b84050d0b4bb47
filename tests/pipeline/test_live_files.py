"""What processes of runs say of themselves, as it is read."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from bigcodeflow.pipeline.live_files import live_runs

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


def write(root, *, run_id="r", age_seconds=1.0, **more):
    """A run's file as its process writes it, so many seconds ago."""
    moment = NOW - timedelta(seconds=age_seconds)
    started = moment - timedelta(minutes=2)
    run = {"run_id": run_id, "started_at": started.isoformat(), "updated_at": moment.isoformat()}
    folder = root / "live"
    folder.mkdir(exist_ok=True)
    (folder / f"{run_id}.json").write_text(json.dumps(run | more))


def test_a_run_tells_how_far_it_is(tmp_path):
    """Share, time since the start, and what is left as of now."""
    executing = {"task_id": "T/1", "sample_id": 3, "since": (NOW - timedelta(seconds=15)).isoformat()}
    executing["limit_seconds"] = 60
    write(tmp_path, done=5, total=20, eta_seconds=30, executing=[executing], split="complete", subset="hard")
    [run] = live_runs(tmp_path, NOW)
    assert (run.percent, run.seconds(NOW), run.eta(NOW), run.board) == (25.0, 121.0, 29.0, "hard · complete")
    [one] = run.executing
    assert (one.seconds(NOW), one.percent(NOW), one.sample_id) == (15.0, 25.0, 3)


@pytest.mark.parametrize(("age_seconds", "shown", "silent"), [(59, 1, False), (61, 1, True), (90_000, 0, None)])
def test_a_silent_run_is_told_and_in_the_end_forgotten(tmp_path, age_seconds, shown, silent):
    """After a minute without a sign its time stands still and nothing is foretold; after a day it is not shown."""
    write(tmp_path, age_seconds=age_seconds, eta_seconds=1e6)
    found = live_runs(tmp_path, NOW)
    assert len(found) == shown
    for run in found:
        assert run.is_silent(NOW) == silent
        assert (run.eta(NOW) is None) == silent
        assert run.seconds(NOW) == (120 if silent else 120 + age_seconds)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"run_id": 1}',
        '{"run_id": "x", "started_at": "yesterday", "updated_at": "now"}',
        "\0" * 10,
        {"done": -1},
        {"eta_seconds": "inf"},
        {"started_at": "2026-11-24T12:00:00"},
        {"executing": [{}]},
    ],
)
def test_other_files_are_no_runs(tmp_path, content):
    """Torn, foreign and wrong files, and numbers that cannot be, are left out, and the others are shown."""
    write(tmp_path, run_id="whole")
    if isinstance(content, dict):
        write(tmp_path, run_id="other", **content)
    else:
        (tmp_path / "live" / "other.json").write_text(content)
    assert [run.run_id for run in live_runs(tmp_path, NOW)] == ["whole"]


def test_the_latest_start_is_first_and_fields_of_a_later_version_are_left_out(tmp_path):
    """Whatever the files are called; an execution that checks a pass has no sample number."""
    executing = {"task_id": "T", "since": NOW.isoformat(), "sample_id": None, "later": 1}
    write(tmp_path, run_id="a", age_seconds=50)
    write(tmp_path, run_id="b", age_seconds=5, later={"a": [1]}, executing=[executing])
    runs = live_runs(tmp_path, NOW)
    assert [run.run_id for run in runs] == ["b", "a"]
    assert (runs[0].executing[0].task_id, runs[0].executing[0].percent(NOW)) == ("T", None)
    assert live_runs(tmp_path / "absent", NOW) == []
