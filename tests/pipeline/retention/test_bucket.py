"""What goes from a store in a bucket, over a real S3 API; objects are as young as the test, so that time runs ahead."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bigcodeflow.core.schemas import STAGE_FOLDERS
from bigcodeflow.pipeline.retention import RetentionConfig, removable, remove
from bigcodeflow.results.runs import recorded_runs
from bigcodeflow.store import Store, open_store
from tests.pipeline.retention.test_retention import SCHEMAS, record
from tests.store.s3 import new_bucket


@pytest.fixture
def store(s3_endpoint: str) -> Store:
    return open_store(f"s3://{new_bucket()}/store")


def in_days(days: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def artifact(store: Store, stage: str, key: str) -> None:
    store.publish(stage, key, SCHEMAS[stage].empty_table(), settings={})


def whole_run(store: Store, name: str, started_at: datetime) -> None:
    """A recorded run with all its artifacts."""
    keys = {stage: f"{name}-{stage.replace('_', '-')}-{started_at:%M%S%f}" for stage in STAGE_FOLDERS}
    for stage, key in keys.items():
        artifact(store, STAGE_FOLDERS[stage], key)
    record(store, name, started_at, keys)


def assert_one_run_is_whole(store: Store) -> None:
    [run] = recorded_runs(store.location)
    assert all(store.find(STAGE_FOLDERS[stage], key) for stage, key in run.keys.items())


def settings(store: Store, **given: object) -> RetentionConfig:
    return RetentionConfig(store=store.location, **given)


def gone(config: RetentionConfig, now: datetime) -> list[str]:
    return sorted(f"{one.kind}: {one.name}" for one in remove(config, removable(config, now), now))


@pytest.mark.slow
def test_what_no_run_needs_goes_when_it_is_old_enough(store: Store) -> None:
    """Artifacts and unfinished work alike, on the server and here; what a record names stays."""
    whole_run(store, "kept", in_days(0))
    artifact(store, "execution", "unused")
    store.bucket.write("execution/left.partial/segment.jsonl", b"{}\n")
    before = store.bucket.objects("")
    assert gone(settings(store), in_days(29)) == []
    assert store.bucket.objects("") == before
    assert gone(settings(store), in_days(31)) == [
        "artifact: execution/unused",
        "unfinished work: execution/left.partial",
    ]
    assert not store.folder("execution", "unused").exists()
    assert store.find("execution", "unused") is None
    assert_one_run_is_whole(store)


@pytest.mark.slow
def test_a_removal_that_was_killed_is_finished_by_the_next(store: Store) -> None:
    """The manifest goes first: what is left is no artifact, and goes as debris."""
    artifact(store, "dataset", "half")
    store.bucket.delete(["dataset/half/manifest.json"])
    assert store.find("dataset", "half") is None
    assert gone(settings(store), in_days(2)) == []
    assert gone(settings(store), in_days(31)) == ["debris: dataset/half"]
    assert not store.bucket.objects("dataset")


@pytest.mark.slow
def test_finding_an_artifact_keeps_it(store: Store) -> None:
    """What a run found counts as written now; not again and again, as each time is a request more."""
    artifact(store, "dataset", "key")
    manifest = json.loads(store.bucket.read("dataset/key/manifest.json") or b"")
    manifest["written_at"] = in_days(-40).isoformat()
    store.bucket.write("dataset/key/manifest.json", json.dumps(manifest).encode())
    written = _written_at(store)
    time.sleep(1.1)  # S3 tells seconds
    assert store.find("dataset", "key")
    marked = _written_at(store)
    assert marked > written
    time.sleep(1.1)
    assert store.find("dataset", "key")
    assert _written_at(store) == marked


@pytest.mark.slow
def test_what_is_used_between_looking_and_removing_stays(store: Store) -> None:
    """A run that found the artifact meanwhile keeps it, whole."""
    artifact(store, "dataset", "key")
    config, now = settings(store), in_days(30)
    found = removable(config, now + timedelta(seconds=2))
    assert [one.name for one in found] == ["dataset/key"]
    time.sleep(3.1)
    content = store.bucket.read("dataset/key/manifest.json")
    store.bucket.write("dataset/key/manifest.json", content or b"")
    assert remove(config, found, now + timedelta(seconds=2)) == []
    assert store.find("dataset", "key")


@pytest.mark.slow
def test_answers_stay_unless_asked_for(store: Store, tmp_path: Path) -> None:
    """They were paid for; asked for, they go on the server and here."""
    store.bucket.write("answers/some/segment.jsonl", b"{}\n")
    folder = store.root / "answers" / "some"
    folder.mkdir(parents=True)
    assert gone(settings(store), in_days(400)) == []
    assert gone(settings(store, answers=True), in_days(400)) == ["answers: answers/some"]
    assert not store.bucket.objects("answers")
    assert not folder.exists()


def _written_at(store: Store) -> datetime:
    return store.bucket.objects("dataset")["key/manifest.json"].written_at
