"""`bigcodeflow runs` on a store of small real tables: lists, labels, archive, deletion and a second start."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bigcodeflow.pipeline.live_files import LiveState, keep_ended
from bigcodeflow.results import rebuild_catalog
from bigcodeflow.results.runs import find_run, recorded_runs
from tests.conftest import Command
from tests.explorer.conftest import record_night
from tests.report.conftest import RecordedStore

STARTED = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> RecordedStore:
    """Two models on a split each, and a run that crashed."""
    recorded = RecordedStore(tmp_path / "results" / "store")
    record_night(recorded, "alpha", {1, 2}, n_tasks=5)
    record_night(recorded, "beta", {1}, n_tasks=5, split="instruct")
    state = {"run_id": "abc123", "name": "gamma · hard", "model": "gamma", "split": "complete", "subset": "hard"}
    state |= {"started_at": STARTED, "updated_at": STARTED + timedelta(minutes=3), "stage": "execution", "done": 3}
    keep_ended(recorded.root, LiveState(**state, total=9, outcome="crashed", error="the disk is full"))
    rebuild_catalog(recorded.root)
    return recorded


def listed(bigcodeflow: Command, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(bigcodeflow("runs", *arguments, "--json").stdout)
    return found


def test_runs_are_listed_with_those_that_crashed(bigcodeflow: Command, store: RecordedStore) -> None:
    """The latest first, each with its score, also for scripts."""
    runs = listed(bigcodeflow)
    assert [(run["model"], run["outcome"]) for run in runs] == [
        ("gamma", "crashed"), ("beta", "finished"), ("alpha", "finished"),
    ]  # fmt: skip
    assert (runs[2]["pass_at_k"], runs[2]["n_tasks"]) == (0.6, 5)
    assert runs[0]["error"] == "execution, 3 of 9: the disk is full"
    done = bigcodeflow("runs")
    assert "60.0 %" in done.stdout
    assert "crashed" in done.stdout
    assert "3 of 3 runs" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "models"),
    [
        (["--split", "instruct"], ["beta"]),
        (["--outcome", "crashed"], ["gamma"]),
        (["--text", "ALPHA full"], ["alpha"]),
        (["--sort", "score"], ["beta", "alpha", "gamma"]),
        (["--sort", "score", "--reverse"], ["alpha", "beta", "gamma"]),
        (["--model", "nobody"], []),
    ],
)
def test_filters_and_orders(
    bigcodeflow: Command, store: RecordedStore, arguments: list[str], models: list[str]
) -> None:
    """Each filter narrows; runs without a score come last in either direction."""
    assert [run["model"] for run in listed(bigcodeflow, *arguments)] == models


def test_a_long_list_is_cut_and_says_so(bigcodeflow: Command, store: RecordedStore) -> None:
    """JSON holds all; a store without runs is no error."""
    assert listed(bigcodeflow, "--store", "empty") == []
    assert "0 of 0 runs" in bigcodeflow("runs", "--store", "empty").stderr
    assert "1 of 3 runs in results/store; --limit 0 lists all 3" in bigcodeflow("runs", "--limit", "1").stderr
    assert len(listed(bigcodeflow, "--limit", "1")) == 3


def test_labels_are_shown_found_and_removed(bigcodeflow: Command, store: RecordedStore) -> None:
    """A new name leads to the run everywhere; without labels the file is gone."""
    bigcodeflow("runs", "rename", "alpha", "baseline")
    bigcodeflow("runs", "tag", "baseline", "paper", "first")
    bigcodeflow("runs", "tag", "baseline", "first", "--remove")
    bigcodeflow("runs", "note", "baseline", "server had [red]a template")
    [run] = listed(bigcodeflow, "--tag", "paper")
    assert (run["name"], run["tags"], run["note"]) == ("baseline", ["paper"], "server had [red]a template")
    shown = bigcodeflow("runs", "show", "baseline").stdout
    assert "server had [red]a template" in shown
    assert "exception 2" in shown
    assert "exception" in bigcodeflow("inspect", "baseline").stdout
    bigcodeflow("runs", "rename", "baseline", "")
    bigcodeflow("runs", "tag", "alpha", "paper", "--remove")
    bigcodeflow("runs", "note", "alpha", "")
    assert not list(store.root.glob("labels/*"))


def test_archived_runs_are_left_out_unless_asked_for(bigcodeflow: Command, store: RecordedStore) -> None:
    """Of lists, the leaderboard and 'latest'; their names still lead to them."""
    bigcodeflow("runs", "archive", "beta")
    assert [run["model"] for run in listed(bigcodeflow)] == ["gamma", "alpha"]
    assert [run["model"] for run in listed(bigcodeflow, "--archived")] == ["gamma", "beta", "alpha"]
    assert find_run(store.root, "latest").model == "alpha"
    assert find_run(store.root, "beta").model == "beta"
    assert "beta" not in bigcodeflow("leaderboard", "show", check=False).stdout
    assert "2 of 2 runs in results/store; --archived adds 1 archived" in bigcodeflow("runs").stderr
    assert "archived" in bigcodeflow("runs", "--archived").stdout
    bigcodeflow("runs", "archive", "beta", "--undo")
    assert find_run(store.root, "latest").model == "beta"


def test_a_store_of_archived_runs_is_not_called_empty(bigcodeflow: Command, store: RecordedStore) -> None:
    """Neither by the list nor where a run is named."""
    bigcodeflow("runs", "archive", "alpha", "beta")
    bigcodeflow("runs", "delete", "abc123", "--yes")
    done = bigcodeflow("runs")
    assert (done.stdout, "--archived adds 2 archived" in done.stderr) == ("", True)
    assert "all its runs are archived" in bigcodeflow("inspect", "latest", check=False).stderr


def test_titles_and_tags_are_whole_on_a_narrow_terminal(
    bigcodeflow: Command, store: RecordedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 columns show subset, split and every tag, in several lines."""
    monkeypatch.setenv("COLUMNS", "80")
    bigcodeflow("runs", "tag", "beta", "baseline", "paper-table-2")
    bigcodeflow("runs", "rename", "beta", "another-name")
    shown = bigcodeflow("runs", "--split", "instruct").stdout
    for part in ("full", "instruct", "another-name", "#baseline", "#paper-table-2"):
        assert part in shown, part


def test_delete_lists_asks_and_keeps_what_others_need(
    bigcodeflow: Command, store: RecordedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --yes a terminal that says nothing deletes nothing; the dataset that both runs share stays."""
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    bigcodeflow("runs", "tag", "alpha", "x")
    refused = bigcodeflow("runs", "delete", "alpha", check=False)
    assert refused.returncode == 1
    assert "execution/" in refused.stdout
    assert "answers of models" in refused.stderr
    assert len(recorded_runs(store.root)) == 2
    bigcodeflow("runs", "delete", "alpha", "abc", "--yes")
    [kept] = recorded_runs(store.root)
    assert kept.model == "beta"
    for artifact in kept.keys:
        kept.path(artifact)
    assert [run["model"] for run in listed(bigcodeflow)] == ["beta"]
    assert len(list(store.root.glob("execution/*"))) == 2
    assert not list(store.root.glob("labels/*"))


def test_nothing_is_deleted_while_a_run_is_in_progress(bigcodeflow: Command, store: RecordedStore) -> None:
    """It may use the artifacts."""
    now = datetime.now(UTC).isoformat()
    state = {"run_id": "r", "started_at": now, "updated_at": now}
    (store.root / "live").mkdir()
    (store.root / "live" / "r.json").write_text(json.dumps(state))
    refused = bigcodeflow("runs", "delete", "alpha", "--yes", check=False)
    assert (refused.returncode, len(recorded_runs(store.root))) == (1, 2)
    assert "a run is in progress" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "nobody"], "no recorded run is called 'nobody'"),
        (["tag", "abc123", "x"], "has no record to label"),
        (["retry", "abc123"], "its settings were not kept"),
        (["--sort", "luck"], "luck"),
    ],
)
def test_mistakes_are_one_message(bigcodeflow: Command, store: RecordedStore, arguments: list[str], says: str) -> None:
    """With what to do."""
    done = bigcodeflow("runs", *arguments, check=False)
    assert done.returncode in (1, 2)
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_finished_run_is_run_again_from_what_is_there(
    bigcodeflow: Command, tmp_path: Path, starter_environment: object
) -> None:
    """The same settings, every stage from the cache, a second record."""
    bigcodeflow("evaluate", "--samples", "stub", "--dataset", "starter", "--environment", "starter", "--ids", "0-1")
    again = bigcodeflow("runs", "retry", "latest")
    assert again.stderr.count("from cache") >= 5
    first, second = recorded_runs(tmp_path / "results" / "store")
    assert (first.config, first.keys) == (second.config, second.keys)
