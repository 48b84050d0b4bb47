"""A catalog that is rebuilt: beside its readers, after kills, from broken records and moved stores."""

import logging
import os
import shutil
import threading

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.catalog.description import LeftOut, describe_catalog
from bigcodeflow.store import open_store
from tests.results.catalog.conftest import ask, publish, record
from tests.results.conftest import Tables, add_three_tasks


@pytest.mark.slow
def test_open_readers_keep_what_they_opened(store, three_tasks):
    """A rebuild under an open reader succeeds; the reader sees the old catalog, a new reader the new one."""
    catalog = rebuild_catalog(store.root)
    with duckdb.connect(catalog, read_only=True) as reader:
        publish(store, three_tasks)
        rebuild_catalog(store.root)
        assert reader.execute("SELECT count(*) FROM runs").fetchall() == [(0,)]
    assert ask(catalog, "SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.slow
def test_rebuilding_at_once_leaves_one_whole_catalog(store, three_tasks):
    """Runs that end together each rebuild; the file is whole, and nothing temporary stays behind."""
    publish(store, three_tasks)
    threads = [threading.Thread(target=rebuild_catalog, args=(store.root,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ask(store.root / "results.duckdb", "SELECT count(*) FROM verdicts") == [(3,)]
    assert not list(store.root.glob("*.tmp*")) + list(store.root.glob(".*.tmp*"))


def test_what_a_killed_rebuild_left_is_cleared_away(store):
    """The next rebuild removes its database, log and spilled data."""
    store.root.mkdir(parents=True)
    for name in (".results.duckdb.0.tmp", ".results.duckdb.0.tmp.wal"):
        (store.root / name).write_bytes(b"half")
    (store.root / ".results.duckdb.0.tmp.spill").mkdir()
    rebuild_catalog(store.root)
    assert not list(store.root.glob("*.tmp*")) + list(store.root.glob(".*.tmp*"))


def test_a_broken_run_record_is_named(store):
    """A record that cannot be read stops the rebuild, naming the file; the former catalog stays."""
    catalog = rebuild_catalog(store.root)
    before = catalog.read_bytes()
    path = record(store, "broken")
    for content in (b"", b"{", b"[]", b'{"run": "x"}', b'{"run": "x", "started_at": "noon"}', b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ArtifactError, match=r"broken-20261121\.json: is not a run record") as caught:
            rebuild_catalog(store.root)
        assert "\n" not in str(caught.value)
        assert catalog.read_bytes() == before


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A store with two runs, and their keys."""
    folder = tmp_path_factory.mktemp("published")
    store, tables = open_store(folder / "store"), add_three_tasks(Tables(folder / "tables"))
    return store.root, {name: publish(store, tables, name) for name in ("first", "second")}


def remove_table(folder):
    (folder / "part-0.parquet").unlink()


class TestLeftOut:
    """What is gone or damaged is missed by name, and nothing else suffers."""

    @pytest.fixture
    def two(self, store, published):
        """The keys of two runs in a store of the test's own."""
        shutil.copytree(published[0], store.root)
        return published[1]

    @pytest.mark.parametrize(
        ("stage", "remove"),
        [pytest.param("aggregation", shutil.rmtree, marks=pytest.mark.slow), ("execution", remove_table)],
    )
    def test_a_run_whose_artifact_is_gone_is_left_out(self, store, two, stage, remove, caplog):
        """Also one that was copied in part: every view goes on with the other run, a warning and the table tell of it."""
        key = two["first"][stage]
        remove(store.folder(stage, key))
        catalog = rebuild_catalog(store.root)
        for view in ("runs", "pass_at_k", "solve_rate", "verdicts", "solutions", "failures", "metrics", "costs"):
            assert ask(catalog, f"SELECT DISTINCT run FROM {view}") == [("second",)]
        assert describe_catalog(catalog)[1] == [LeftOut("first-20261121", stage, key, "is gone")]
        [warned] = caplog.records
        assert warned.levelno == logging.WARNING
        assert "leaves out 1 recorded run" in warned.getMessage()
        assert f"bigcodeflow catalog --store {store.root}" in warned.getMessage()

    @pytest.mark.parametrize("stage", [pytest.param("sanitizing", marks=pytest.mark.slow), "execution"])
    def test_a_run_whose_artifact_is_damaged_is_left_out(self, store, two, stage):
        """A file that is no Parquet file, or is cut off, is named with what is wrong with it."""
        path = store.folder(stage, two["first"][stage]) / "part-0.parquet"
        path.write_bytes(path.read_bytes()[:-20])
        catalog = rebuild_catalog(store.root)
        assert ask(catalog, "SELECT run FROM runs") == [("second",)]
        assert ask(catalog, "SELECT DISTINCT run FROM verdicts") == [("second",)]
        [left_out] = describe_catalog(catalog)[1]
        assert left_out[:3] == ("first-20261121", stage, two["first"][stage])
        assert left_out.reason.startswith("cannot be read: ")
        assert str(path) in left_out.reason

    @pytest.mark.slow
    def test_damaged_pages_are_found_as_well(self, store, two):
        """A file whose end is whole and whose data is not is left out too, and the others of its stage are not."""
        path = store.folder("execution", two["first"]["execution"]) / "part-0.parquet"
        content = path.read_bytes()
        start = pq.read_metadata(path).serialized_size + 8
        path.write_bytes(content[:4] + b"\x00" * (len(content) - start - 4) + content[-start:])
        assert ask(rebuild_catalog(store.root), "SELECT run, count(*) FROM verdicts GROUP BY ALL") == [("second", 3)]

    @pytest.mark.slow
    def test_a_damaged_artifact_of_no_run_is_named_too(self, store, two):
        """What no record refers to is left out of the stage's view."""
        store.publish("execution", "0" * 64, pa.table({"task_id": ["Demo/2"]}), settings={})
        (store.folder("execution", "0" * 64) / "part-0.parquet").write_bytes(b"nothing of the kind")
        catalog = rebuild_catalog(store.root)
        [left_out] = describe_catalog(catalog)[1]
        assert left_out[:3] == (None, "execution", "0" * 64)
        assert ask(catalog, "SELECT count(*) FROM runs") == [(2,)]
        assert ask(catalog, "SELECT count(DISTINCT artifact) FROM execution") == [(4,)]


class TestCarriedOver:
    """What the former catalog knows of an unchanged artifact is not read again; all else is."""

    def counts(self, store):
        return ask(rebuild_catalog(store.root), "SELECT sum(n_passed), sum(n_given) FROM solve_rate")

    @pytest.mark.slow
    def test_only_what_changed_is_read_again(self, store, three_tasks):
        """Unchanged files are not opened, new verdicts and runs count, and deleted artifacts are forgotten."""
        keys = publish(store, three_tasks, "first")
        assert self.counts(store) == [(2, 3)]
        # A file that looks as before is trusted: here its content is not even Parquet any more.
        path = store.folder("execution", keys["execution"]) / "part-0.parquet"
        status = path.stat()
        copy = path.read_bytes()
        path.write_bytes(b"x" * len(copy))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        with pytest.raises(ArtifactError, match=r"cannot be built .*part-0.parquet"):
            rebuild_catalog(store.root)  # the counts are carried over; only the view over the file fails
        path.write_bytes(copy)
        # The same key may come to hold other verdicts, where samples had been left unjudged.
        table = three_tasks.table("verdicts")
        passing = table.set_column(table.schema.get_field_index("status"), table.schema.field("status"), [["pass"] * 3])
        store.publish("execution", keys["execution"], passing, settings={})
        publish(store, three_tasks, "second")
        assert self.counts(store) == [(3 + 2, 6)]
        (store.root / "runs" / "first-20261121.json").unlink()
        shutil.rmtree(store.folder("execution", keys["execution"]))
        assert self.counts(store) == [(2, 3)]
        assert ask(store.root / "results.duckdb", "SELECT count(DISTINCT artifact) FROM stored.outcomes") == [(3,)]

    @pytest.mark.slow
    def test_a_former_catalog_that_cannot_be_used_is_no_obstacle(self, store, three_tasks):
        """Damaged or of an older version, it is replaced by one that was read from the store."""
        publish(store, three_tasks)
        catalog = rebuild_catalog(store.root)
        with duckdb.connect(catalog) as connection:
            connection.execute("UPDATE stored.version SET version = 0")
            connection.execute("DELETE FROM stored.outcomes")
        assert self.counts(store) == [(2, 3)]
        catalog.write_bytes(b"no database")
        assert self.counts(store) == [(2, 3)]


@pytest.mark.slow
def test_a_moved_store_is_whole_again_after_a_rebuild(store, three_tasks, tmp_path):
    """Counts and scores go with the file; texts are found again once the catalog was built where it is now."""
    publish(store, three_tasks)
    rebuild_catalog(store.root)
    moved = store.root.rename(tmp_path / "moved")
    assert ask(moved / "results.duckdb", "SELECT count(*) FROM solve_rate") == [(3,)]
    with pytest.raises(duckdb.IOException, match=r"No files found .*execution"):
        ask(moved / "results.duckdb", "SELECT count(*) FROM verdicts")
    assert ask(rebuild_catalog(moved), "SELECT count(*) FROM verdicts") == [(3,)]
