"""What goes from a store and what stays, with real stores, and removals that are killed or overtaken."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.schemas import METRICS, SAMPLES, SOLUTIONS, STAGE_FOLDERS, TASKS, VERDICTS
from bigcodeflow.generation.model_settings import ledger_key
from bigcodeflow.pipeline.retention import (
    Removable,
    RetentionConfig,
    removable,
    remove,
    removed_rows,
    size_text,
    totals,
)
from bigcodeflow.results.runs import recorded_runs
from bigcodeflow.store import Store, open_store
from bigcodeflow.studies.derived_files import sample_file
from bigcodeflow_studies.audit.schema import AUDIT
from tests.command import add_distribution

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SCHEMAS = dict(zip(dict.fromkeys(STAGE_FOLDERS.values()), (TASKS, SAMPLES, SOLUTIONS, VERDICTS, METRICS), strict=True))


def aged(path: Path, days: float) -> Path:
    """Make a file or a folder with everything in it look untouched for so long."""
    seconds = (NOW - timedelta(days=days)).timestamp()
    for one in (path, *path.rglob("*")):
        os.utime(one, (seconds, seconds))
    return path


def artifact(store: Store, stage: str, key: str, days: float) -> Path:
    ref = store.publish(stage, key, SCHEMAS[stage].empty_table(), settings={})
    return aged(store.folder(ref.stage, ref.key), days)


def record(store: Store, name: str, finished: datetime, keys: dict[str, str], /, **config: object) -> Path:
    times = dict.fromkeys(("started_at", "finished_at"), finished.isoformat())
    content = {"run": name, "model": name, **times, "config": config, "artifacts": keys}
    return store.write(f"runs/{finished:%Y%m%dT%H%M%S.%f}-{name}.json", json.dumps(content).encode())


def whole_run(store: Store, name: str, days: float, /, **config: object) -> list[Path]:
    """A recorded run with all its artifacts, as old as its record."""
    keys = {stage: f"{name}-{stage.replace('_', '-')}-{days:g}".replace(".", "-") for stage in STAGE_FOLDERS}
    folders = [artifact(store, STAGE_FOLDERS[stage], key, days) for stage, key in keys.items()]
    return [record(store, name, NOW - timedelta(days=days), keys, **config), *folders]


def settings(store: Store, **given: object) -> RetentionConfig:
    return RetentionConfig(store=str(store.root), **given)


def named(found: list[Removable]) -> list[tuple[str, str]]:
    return sorted((one.kind, one.name.rpartition("/")[2]) for one in found)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


def test_artifacts_that_no_run_needs_go_when_they_are_old_enough(store: Store) -> None:
    """Those of a recorded run stay however old, with its further rounds; a run in progress has no record yet."""
    first, *_ = whole_run(store, "old", 400)
    assert removable(settings(store), NOW) == []
    for key, days in {"a": 31, "b": 29, "c": 0, "d": 400}.items():
        artifact(store, "execution", key * 64, days)
    first.write_text(json.dumps(json.loads(first.read_text()) | {"rounds": [{"execution": "d" * 64}]}))
    assert named(removable(settings(store), NOW)) == [("artifact", "a" * 64)]
    assert store.find("execution", "a" * 64) is not None  # counts as use
    assert removable(settings(store), NOW) == []


def test_results_of_studies_stay_and_files_that_they_can_make_again_go(store: Store) -> None:
    """A result may have taken hours, and no record names it; the samples that it executed follow from its settings."""
    store.publish("audit", "a" * 64, AUDIT.empty_table(), settings={})
    aged(store.folder("audit", "a" * 64), 400)
    left = Path(sample_file(store, "mutants", [("Demo/0", "pass")]))
    aged(left, 400)
    assert named(found := removable(settings(store), NOW)) == [("artifact", left.name)]
    assert remove(settings(store, dry_run=False), found, NOW) == found
    assert not left.exists()
    assert sample_file(store, "mutants", [("Demo/0", "pass")]) == str(left)
    assert removable(settings(store), NOW) == []


def test_unfinished_work_stays_while_it_is_added_to(store: Store) -> None:
    """The newest file in it tells whether somebody still works there."""
    left, alive = store.workspace("execution", "left"), store.workspace("execution", "alive")
    for folder in (left, alive):
        (folder / "ab").mkdir()
        (folder / "ab" / "ab.1.jsonl").write_text("{}\n")
        aged(folder, 100)
    os.utime(alive / "ab" / "ab.1.jsonl", (NOW.timestamp(), NOW.timestamp()))
    assert named(removable(settings(store), NOW)) == [("unfinished work", "left.partial")]


def test_what_a_killed_process_left_goes(store: Store) -> None:
    """Folders that were being written or removed are no artifacts; a run that lives writes its live file often."""
    artifact(store, "dataset", "key", days=50).rename(store.root / "dataset" / "key.0f.old")
    (store.root / "dataset" / "key.1f.tmp").mkdir()
    aged(store.root / "dataset" / "key.1f.tmp", 50)
    (store.root / "dataset" / "key.2f.tmp").mkdir()
    left = aged(store.write("live/killed.json", b"{}"), 50)
    store.write("live/alive.json", b"{}")
    found = removable(settings(store), NOW)
    assert named(found) == [("debris", name) for name in ("key.0f.old", "key.1f.tmp", "killed.json")]
    assert len(remove(settings(store, dry_run=False), found, NOW)) == 3
    assert [path.name for path in left.parent.iterdir()] == ["alive.json"]


def test_records_stay_unless_asked_for(store: Store) -> None:
    """Of each name the newest are kept; an old one goes with the artifacts that only it needs, and all at once."""
    for days in (300, 200, 100, 5):
        whole_run(store, "model", days)
    other = whole_run(store, "other", 300)
    assert removable(settings(store), NOW) == []
    gone = removable(settings(store, keep_runs_per_name=2), NOW)
    assert {one.name.rpartition("/")[2].partition("-")[0] for one in gone if one.kind == "run record"} == {
        (NOW - timedelta(days=days)).strftime("%Y%m%dT%H%M%S.%f") for days in (300, 200)
    }
    assert len([one for one in gone if one.kind == "artifact"]) == 2 * len(STAGE_FOLDERS)
    remove(settings(store), gone, NOW)
    assert [one.run for one in recorded_runs(store.root)] == ["other", "model", "model"]
    assert all(path.exists() for path in other)
    assert removable(settings(store, keep_runs_per_name=2), NOW) == []
    for days in (3, 2, 1):  # records of the last days stay beyond the number
        record(store, "young", NOW - timedelta(days=days), {})
    assert removable(settings(store, keep_runs_per_name=2), NOW) == []


def test_runs_that_ask_something_else_are_kept_by_themselves(store: Store) -> None:
    """A name is shared by models, settings and selections of tasks: none of them makes another's records go."""
    asked = {"samples": {"source": "model"}, "generation": {"sampling": {"temperature": 0.0}}}
    for days, config in enumerate(
        (
            asked,
            asked | {"generation": {"sampling": {"temperature": 0.3}}},
            asked | {"dataset": {"ids": "0-4"}},
            asked | {"execution": {"integrity": "off"}},
        ),
        start=100,
    ):
        whole_run(store, "nightly", days, **config)
    assert removable(settings(store, keep_runs_per_name=1), NOW) == []
    oldest = whole_run(store, "nightly", 200, **asked)
    gone = removable(settings(store, keep_runs_per_name=1), NOW)
    assert [one.name for one in gone if one.kind == "run record"] == [f"runs/{oldest[0].name}"]


def answered(store: Store, key: str) -> Path:
    """Answers of a model that nobody has used for long."""
    folder = store.root / "answers" / key
    folder.mkdir(parents=True)
    (folder / "replies-1.jsonl").write_text("{}\n")
    return aged(folder, 90)


def test_answers_stay_unless_asked_for(store: Store) -> None:
    """They were paid for: only those that no recorded run needs go, and only on request."""
    used = RunConfig.model_validate({"samples": {"source": "model"}, "generation": {"model": "openai:m"}})
    whole_run(store, "m", 100, **used.model_dump(mode="json"))
    for key in (ledger_key(used.generation), "f" * 64):
        answered(store, key)
    assert removable(settings(store), NOW) == []
    assert named(removable(settings(store, answers=True), NOW)) == [("answers", "f" * 64)]


def test_answers_that_a_run_is_asking_for_stay(store: Store) -> None:
    """A run holds the folder's lock while it asks; its answers are not taken away under it."""
    folder, config = answered(store, "f"), settings(store, answers=True)
    found = removable(config, NOW)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove(config, found, NOW) == []
    assert (folder / "replies-1.jsonl").exists()
    assert named(remove(config, found, NOW)) == [("answers", "f")]
    assert not folder.exists()


@pytest.mark.parametrize("late", [False, True])
def test_what_is_used_before_it_is_removed_stays(store: Store, monkeypatch: pytest.MonkeyPatch, *, late: bool) -> None:
    """A run that found the artifact meanwhile keeps it, whole, also where that was between the check and the renaming."""
    folder = artifact(store, "dataset", "key", 300)
    found = removable(settings(store), NOW)
    rename = Path.rename

    def found_first(self: Path, target: Path) -> Path:
        if self == folder:
            os.utime(folder / "manifest.json")
        return rename(self, target)

    if late:
        monkeypatch.setattr(Path, "rename", found_first)
    else:
        os.utime(folder / "manifest.json")
    assert remove(settings(store), found, NOW) == []
    assert store.find("dataset", "key") is not None
    assert [path.name for path in folder.parent.iterdir()] == ["key"]


_KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
import shutil
from bigcodeflow.pipeline.retention import RetentionConfig, removable, remove

config = RetentionConfig(store=sys.argv[1], keep_runs_per_name=1)
now = datetime(2026, 3, 1, tzinfo=UTC)
left = int(sys.argv[2])
def die(*args, **kwargs):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)
real, shutil.rmtree = shutil.rmtree, die
remove(config, removable(config, now), now)
"""


@pytest.mark.parametrize("finished", [pytest.param(0, marks=pytest.mark.slow), 4])
def test_a_removal_that_is_killed_leaves_a_sound_store(store: Store, finished: int) -> None:
    """No record names what is gone, every artifact is there whole or not at all, and the next removal ends the work."""
    whole_run(store, "model", 300)
    kept = whole_run(store, "model", 200)
    done = subprocess.run([sys.executable, "-c", _KILLED, str(store.root), str(finished)], check=False, timeout=600)
    assert done.returncode == -9
    assert all(path.exists() for path in kept)
    for run in recorded_runs(store.root):
        assert all(store.find(STAGE_FOLDERS[stage], key) for stage, key in run.keys.items())
    config = settings(store, keep_runs_per_name=1)
    remove(config, removable(config, NOW), NOW)
    assert removable(config, NOW) == []
    assert len(list(store.root.glob("*/*/manifest.json"))) == len(STAGE_FOLDERS)
    assert not list(store.root.glob("*/*.old"))


def test_the_catalog_knows_what_went(store: Store) -> None:
    """Views over files that are gone would fail for everybody who opens the catalog."""
    import duckdb

    whole_run(store, "model", 100)
    artifact(store, "execution", "unused", 100)
    config = settings(store)
    remove(config, removable(config, NOW), NOW)
    with duckdb.connect(store.root / "results.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM verdicts").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_a_damaged_record_stops_everything(store: Store) -> None:
    """Where nobody can tell what a run needs, nothing is removed."""
    artifact(store, "execution", "unused", 100)
    (store.root / "runs").mkdir()
    (store.root / "runs" / "x.json").write_text("{")
    with pytest.raises(ArtifactError, match=r"x\.json: is not a run record"):
        removable(settings(store), NOW)


KEEPING = """
def needed(location):
    return [{"execution": "kept"}]
def odd(location):
    return None
def fails(location):
    raise KeyError(location)
"""


@pytest.fixture
def keep_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Installs another distribution with a plug-in for retention, by MODULE:NAME."""
    (tmp_path / "keeping.py").write_text(KEEPING)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda path: add_distribution(tmp_path, "mine", f"[bigcodeflow.retention]\nmine = {path}\n")


def test_a_plug_in_keeps_what_it_needs(store: Store, keep_by: Callable[[str], None]) -> None:
    """Artifacts that no run needs any more."""
    kept, gone = (artifact(store, "execution", name, 90) for name in ("kept", "gone"))
    keep_by("keeping:needed")
    names = {one.name for one in removable(RetentionConfig(store=store.location), NOW)}
    assert (f"execution/{kept.name}" in names, f"execution/{gone.name}" in names) == (False, True)


@pytest.mark.parametrize("path", ["keeping:odd", "keeping:fails", "absent:needed"])
def test_nothing_goes_while_a_plug_in_does_not_answer(store: Store, keep_by: Callable[[str], None], path: str) -> None:
    artifact(store, "execution", "kept", 90)
    keep_by(path)
    with pytest.raises(ConfigError, match=f"the entry point mine of bigcodeflow.retention is .*{path}"):
        removable(RetentionConfig(store=store.location), NOW)


def test_tables_show_the_largest_first(store: Store) -> None:
    """Sizes are summed over all files of a thing and shown in units that people read; an empty store is no error."""
    assert totals(removable(settings(store, answers=True, keep_runs_per_name=1), NOW)) == "nothing"
    small, large = artifact(store, "dataset", "small", 50), artifact(store, "dataset", "large", 50)
    (large / "more").write_bytes(bytes(5 * 1024 * 1024))
    aged(large, 50)
    found = removable(settings(store), NOW)
    assert [row["what"] for row in removed_rows(found)] == ["dataset/large", "dataset/small"]
    assert removed_rows(found)[0]["size"].startswith("5.0 MiB")
    assert removed_rows(found)[0]["last used"] == "2026-01-10"
    assert totals(found).startswith("2 x artifact, 5.0 MiB")
    assert small.exists()


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.5 KiB"), (3 * 1024**3, "3.0 GiB"), (1024**5, "1,048,576.0 GiB")],
)
def test_sizes_are_shown_in_their_unit(size_bytes: int, text: str) -> None:
    """The largest unit is GiB."""
    assert size_text(size_bytes) == text
