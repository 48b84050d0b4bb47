"""One contract for a store in a folder and a store on S3: whole artifacts or none, from any machine."""

import json
import threading

import pyarrow as pa
import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.store import ArtifactRef, Store, open_store

from .conftest import Machine

TABLE = pa.table({"task_id": ["a", "b"], "n": [1, 2]})


def flipped(content: bytes) -> bytes:
    """The content with one wrong bit."""
    return content[:50] + bytes([content[50] ^ 1]) + content[51:]


def publish(store: Store, table: pa.Table = TABLE, key: str = "key") -> ArtifactRef:
    return store.publish("execution", key, table, settings={"a": 1}, statistics={"executed": 2})


@pytest.mark.slow
def test_what_one_machine_publishes_another_reads(machine: Machine) -> None:
    """Table, statistics and single columns come back on a machine that has never seen the store."""
    ref = publish(machine("one"))
    other = machine("other")
    assert other.find("execution", "key") == ref
    assert other.read(ref).equals(TABLE)
    assert other.read(ref, ["n"]).schema.names == ["n"]
    assert ref.statistics == {"executed": 2}
    assert other.find("execution", "nothing") is None
    assert [path.parent.name for path in machine("third").published("execution")] == ["key"]
    assert machine("fourth").part("execution", "key") is not None
    assert machine("fourth").part("execution", "nothing") is None


def test_a_store_is_known_by_its_location(machine: Machine) -> None:
    """The location that messages show makes the same store again, also after it went through a path; a ref in JSON, as
    Prefect hands it from machine to machine, is enough to read."""
    store = machine("one")
    ref = publish(store)
    assert machine("other").read(ArtifactRef.model_validate_json(ref.model_dump_json())).equals(TABLE)
    assert open_store(store.location).find("execution", "key") == ref
    assert store.location.count("//") == 0 or open_store(store.location.replace("//", "/")).location == store.location


def test_publishing_again_replaces_what_every_machine_sees(machine: Machine) -> None:
    """A provisional artifact gives way to a better one, also where its replica was read before."""
    before = publish(machine("one"))
    assert machine("other").read(before).num_rows == 2
    after = publish(machine("one"), TABLE.slice(0, 1))
    other = machine("other")
    assert other.find("execution", "key") == after != before
    assert other.read(after).num_rows == 1
    publish(machine("one"))
    [path] = machine("other").published("execution")
    assert pa.parquet.read_table(path).num_rows == 2


def test_publishers_that_meet_leave_one_whole_artifact(machine: Machine) -> None:
    """Six writers of different bytes under one key, each a machine of its own: the last one stays, and is whole."""
    stores = [machine(str(number)) for number in range(6)]
    tables = [TABLE.slice(0, 1).set_column(1, "n", pa.array([number])) for number in range(6)]
    threads = [
        threading.Thread(target=publish, args=(store, table)) for store, table in zip(stores, tables, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    observer = machine("observer")
    ref = observer.find("execution", "key")
    assert ref is not None
    assert observer.read(ref) in tables
    assert all(store.find("execution", "key") == ref for store in stores)
    assert {path.name for store in stores for path in (store.root / "execution").iterdir()} == {"key"}


def test_unfinished_work_ends_with_its_artifact(machine: Machine) -> None:
    """The workspace lives until its artifact is there, and no machine sees it as unfinished afterwards."""
    store = machine("one")
    workspace = store.workspace("execution", "key")
    (workspace / "aa").mkdir()
    (workspace / "aa" / "b.jsonl").write_text("{}\n")
    assert store.unfinished("execution") == [workspace]
    publish(store)
    assert not workspace.exists()
    assert store.published("execution") == [store.folder("execution", "key") / "part-0.parquet"]
    assert store.unfinished("execution") == []
    assert machine("other").unfinished("execution") == []


def test_small_files_are_the_same_everywhere(machine: Machine) -> None:
    """Run records and lists are read as they are now, by name and all together."""
    one, other = machine("one"), machine("other")
    assert other.file("runs/a.json") is None
    assert other.files("runs") == []
    one.write("runs/b.json", b"second")
    one.write("runs/a.json", b"first")
    one.write("runs/list.parquet", b"no record")
    assert [(path.name, path.read_bytes()) for path in other.files("runs")] == [
        ("a.json", b"first"),
        ("b.json", b"second"),
    ]
    one.write("runs/a.json", b"new 1")  # of the same length
    found = other.file("runs/a.json")
    assert found is not None
    assert found.read_bytes() == b"new 1"


def test_reading_what_is_gone_says_which_stage_to_run(machine: Machine) -> None:
    """The error names the file and the stage."""
    ref = ArtifactRef(stage="execution", key="nowhere", rows=1, sha256="0")
    with pytest.raises(ArtifactError, match="execution stage again"):
        machine("one").read(ref)


def test_nothing_of_the_credentials_is_stored(s3_machine: Machine) -> None:
    """Neither manifests nor keys nor records know who wrote them."""
    store = s3_machine("one")
    ref = publish(store)
    store.write("runs/a.json", json.dumps(ref.model_dump()).encode())
    bucket = store.bucket
    names = list(bucket.objects("execution"))
    contents = [bucket.read(f"execution/{name}") or b"" for name in names]
    assert len(names) == 2
    assert not any(b"a-secret" in content for content in [*contents, *map(str.encode, names)])
