"""The store: publishing, finding, damage, and runs that meet."""

import json
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.store import ArtifactRef, Store, artifact_key, open_store, write_atomically

TABLE = pa.table({"task_id": ["a", "b"], "n": [1, 2]})
SETTINGS = st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.booleans()))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "store")


def _publish(store: Store, table: pa.Table = TABLE) -> ArtifactRef:
    return store.publish("stage", "key", table, settings={"a": 1}, statistics={"executed": 2})


def test_what_is_published_is_found_and_read(store: Store) -> None:
    """A published table comes back equal, with its statistics."""
    ref = _publish(store)
    assert store.find("stage", "key") == ref
    assert store.read(ref).equals(TABLE)
    assert store.read(ref, ["n"]).schema.names == ["n"]
    assert ref.statistics == {"executed": 2}


def test_a_ref_survives_json(store: Store) -> None:
    """Prefect persists refs as JSON."""
    ref = _publish(store)
    assert ArtifactRef.model_validate_json(ref.model_dump_json()) == ref


@pytest.mark.parametrize("damage", ["truncate", "flip", "no_part", "no_manifest", "bad_manifest", "other_manifest"])
def test_a_damaged_artifact_is_a_miss(store: Store, damage: str) -> None:
    """Nothing that fails its checksum is ever handed out; publishing again repairs it."""
    ref = _publish(store)
    part, manifest = store.path(ref), store.folder("stage", "key") / "manifest.json"
    content = part.read_bytes()
    match damage:
        case "truncate":
            part.write_bytes(content[:-1])
        case "flip":
            part.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
        case "no_part":
            part.unlink()
        case "no_manifest":
            manifest.unlink()
        case "bad_manifest":
            manifest.write_text(manifest.read_text()[:40])
        case "other_manifest":
            manifest.write_text(json.dumps({"artifact": {"stage": "stage"}}))
    assert store.find("stage", "key") is None
    assert _publish(store) == store.find("stage", "key")
    assert store.read(ref).equals(TABLE)


def test_reading_what_is_gone_says_which_stage_to_run(store: Store) -> None:
    """The error names the file and the stage."""
    ref = ArtifactRef(stage="execution", key="nowhere", rows=1, sha256="0")
    with pytest.raises(ArtifactError, match="execution stage again"):
        store.read(ref)


def test_publishing_removes_the_unfinished_work(store: Store) -> None:
    """The workspace lives until its artifact is there."""
    workspace = store.workspace("stage", "key")
    (workspace / "ledger").write_text("x")
    _publish(store)
    assert not workspace.exists()
    assert store.published("stage") == [store.folder("stage", "key") / "part-0.parquet"]


def test_runs_that_publish_the_same_key_at_once_leave_one_whole_artifact(store: Store) -> None:
    """Eight writers, one artifact, nothing left aside."""
    threads = [threading.Thread(target=_publish, args=(store,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.find("stage", "key") is not None
    assert [path.name for path in (store.root / "stage").iterdir()] == ["key"]


@given(SETTINGS, SETTINGS)
def test_keys_differ_exactly_when_settings_differ(one: dict, other: dict) -> None:
    """Order does not matter, content does."""
    shuffled = dict(reversed(list(one.items())))
    assert artifact_key("s", 1, one) == artifact_key("s", 1, shuffled)
    # 1 == True in Python, but not in a setting.
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (artifact_key("s", 1, one) == artifact_key("s", 1, other)) is same


def test_keys_tell_stage_version_and_inputs_apart() -> None:
    """Every part of the identity counts, and inputs count in their order."""
    keys = {
        artifact_key("a", 1, {}, ["x", "y"]),
        artifact_key("b", 1, {}, ["x", "y"]),
        artifact_key("a", 2, {}, ["x", "y"]),
        artifact_key("a", 1, {}, ["y", "x"]),
        artifact_key("a", 1, {}, ["xy"]),
    }
    assert len(keys) == 5


def test_a_compressed_file_is_the_same_every_time(tmp_path: Path) -> None:
    """No time stamp gets into a gzip file, so that equal results have equal bytes."""
    one = write_atomically(tmp_path / "deep" / "a.gz", b"text", compress=True)
    other = write_atomically(tmp_path / "b.gz", b"text", compress=True)
    assert one.read_bytes() == other.read_bytes()
