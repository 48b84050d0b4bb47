"""The catalog over a real store: artifacts published, runs recorded, questions asked."""

import json
import threading

import duckdb
import pytest

from bigcodeflow.artifacts import Store, artifact_key
from bigcodeflow.errors import ArtifactError
from bigcodeflow.results.catalog import rebuild_catalog

STAGES = {"tasks": "dataset", "solutions": "sanitizing", "verdicts": "execution", "ground_truth": "execution"}


def ask(catalog, question):
    with duckdb.connect(catalog, read_only=True) as connection:
        return connection.execute(question).fetchall()


def publish(store, tables, name="first"):
    """Publish the tables and their metrics, record a run over them, and return the run's keys."""
    keys = {}
    for table, stage in STAGES.items():
        key = artifact_key(stage, 1, {"of": table, "run": name})
        store.publish(stage, key, tables.table(table), settings={})
        keys[{"tasks": "dataset", "solutions": "sanitizing", "verdicts": "execution"}.get(table, table)] = key
    keys["aggregation"] = artifact_key("aggregation", 1, {"run": name})
    store.publish("aggregation", keys["aggregation"], tables.metrics(), settings={})
    record(store, name, artifacts=keys)
    return keys


def record(store, name, **content):
    path = store.root / "runs" / f"{name}-20261121.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    times = {"started_at": "2026-11-21T10:00:00+01:00", "finished_at": "2026-11-21T09:30:00Z"}
    path.write_text(json.dumps({"run": name, **times, "config": {"name": name}, "artifacts": {}, **content}))
    return path


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "it's a [store]")


def test_an_empty_store_has_an_empty_catalog(store):
    """Before the first run every view and table answers, with no rows."""
    catalog = rebuild_catalog(store.root)
    assert catalog == store.root / "results.duckdb"
    views = [name for (name,) in ask(catalog, "SELECT table_name FROM information_schema.tables ORDER BY 1")]
    assert views == [
        "aggregation", "dataset", "execution", "failures", "generation", "ground_truths", "pass_at_k", "runs",
        "sanitizing", "verdicts",
    ]  # fmt: skip
    assert {view: ask(catalog, f"SELECT count(*) FROM {view}") for view in views} == {view: [(0,)] for view in views}


def test_stage_views_hold_every_artifact_with_its_key(store, three_tasks):
    """Rows of two artifacts of a stage stand in one view, told apart by the artifact's key."""
    keys = [publish(store, three_tasks, name) for name in ("first", "second")]
    found = ask(rebuild_catalog(store.root), "SELECT artifact, count(*) FROM dataset GROUP BY ALL")
    assert sorted(found) == sorted((key["dataset"], 3) for key in keys)


def test_lists_and_structs_keep_their_types(store, three_tasks):
    """Nested columns come through the view as in the Parquet file."""
    publish(store, three_tasks)
    [(domains,)] = ask(rebuild_catalog(store.root), "SELECT domains FROM dataset WHERE task_id = 'Demo/10'")
    assert domains == ["Math", "Network"]


def test_unfinished_work_is_not_seen(store, three_tasks):
    """A folder without a manifest is no artifact."""
    keys = publish(store, three_tasks)
    (store.folder("dataset", keys["dataset"]) / "manifest.json").unlink()
    assert ask(rebuild_catalog(store.root), "SELECT count(*) FROM dataset") == [(0,)]


def test_an_older_artifact_without_a_column_is_still_read(store, three_tasks):
    """A column that an older version did not write is null, and the views over it still stand."""
    publish(store, three_tasks)
    older = three_tasks.table("verdicts").drop_columns(["flaky", "exit"])
    store.publish("execution", "0" * 64, older, settings={})
    found = ask(
        rebuild_catalog(store.root), f"SELECT count(*), count(exit) FROM execution WHERE artifact = '{'0' * 64}'"
    )
    assert found == [(3, 0)]


def test_runs_have_times_in_utc_and_their_keys(store, three_tasks):
    """A record becomes one row; times are UTC; stages that it did not reach are null."""
    keys = publish(store, three_tasks)
    [row] = ask(
        rebuild_catalog(store.root),
        "SELECT record, run, started_at::VARCHAR, finished_at::VARCHAR, config->>'name', execution_key, generation_key "
        "FROM runs",
    )
    assert row == (
        "first-20261121", "first", "2026-11-21 09:00:00", "2026-11-21 09:30:00", "first", keys["execution"], None
    )  # fmt: skip


def test_verdicts_belong_to_their_run(store, three_tasks):
    """Two runs that share an execution artifact both have its verdicts; ground truths are kept apart."""
    keys = publish(store, three_tasks)
    record(store, "again", artifacts=keys)
    catalog = rebuild_catalog(store.root)
    assert ask(catalog, "SELECT run, count(*) FROM verdicts GROUP BY ALL ORDER BY 1") == [("again", 3), ("first", 3)]
    assert ask(catalog, "SELECT task_id FROM ground_truths WHERE run = 'first' AND status <> 'pass'") == [("Demo/3",)]


def test_failures_name_tests_and_the_first_trace(store, tables):
    """A failure has the names of its failing tests and a reason; unjudged samples are no failures."""
    tests = [
        {"name": "test_a", "outcome": "pass", "seconds": 0.1, "trace": ""},
        {"name": "test_b", "outcome": "error", "seconds": 0.1, "trace": "KeyError: 1"},
    ]
    for number, verdict in enumerate((
        {"status": "fail", "kind": "exception", "tests": tests},
        {"status": "fail", "kind": "import", "module_trace": "ImportError"},
        {"status": "crash", "kind": "crash", "exit": "signal 11"},
        {"status": "infra_error", "kind": "infrastructure"},
        {"status": "pass"},
    )):  # fmt: skip
        tables.task(f"Demo/{number}")
        tables.sample(f"Demo/{number}", **verdict)
    publish(store, tables)
    question = "SELECT task_id, failure_kind, failing_tests, first_trace FROM failures ORDER BY task_id"
    assert ask(rebuild_catalog(store.root), question) == [
        ("Demo/0", "exception", ["test_b"], "KeyError: 1"),
        ("Demo/1", "import", [], "ImportError"),
        ("Demo/2", "crash", [], "signal 11"),
    ]


def test_pass_at_k_shows_both_scores_and_what_limits_them(store, three_tasks):
    """One row a run, variant, sanitizer and k, with the judgeable score and the ground-truth rate beside it."""
    publish(store, three_tasks)
    question = (
        "SELECT run, variant, sanitizer, k, pass_at_k, n_tasks, pass_at_k_judgeable, n_tasks_judgeable, "
        "ground_truth_rate, provisional FROM pass_at_k"
    )
    assert ask(rebuild_catalog(store.root), question) == [
        ("first", "calibrated", "parity", 1, 2 / 3, 3, 0.5, 2, 2 / 3, False)
    ]


def test_a_run_with_unjudged_samples_is_provisional(store, tables):
    """The view marks a score that lacks samples."""
    tables.task("Demo/1")
    tables.sample("Demo/1", "infra_error")
    publish(store, tables)
    assert ask(rebuild_catalog(store.root), "SELECT provisional FROM pass_at_k") == [(True,)]


def test_open_readers_keep_what_they_opened(store, three_tasks):
    """A rebuild under an open reader succeeds; the reader sees the old catalog, a new reader the new one."""
    catalog = rebuild_catalog(store.root)
    with duckdb.connect(catalog, read_only=True) as reader:
        publish(store, three_tasks)
        rebuild_catalog(store.root)
        assert reader.execute("SELECT count(*) FROM runs").fetchall() == [(0,)]
    assert ask(catalog, "SELECT count(*) FROM runs") == [(1,)]


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


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run": "x"}', b'{"run": "x", "started_at": "noon"}', b"\xff"])
def test_a_broken_run_record_is_named(store, content):
    """A record that cannot be read stops the rebuild, naming the file; the former catalog stays."""
    catalog = rebuild_catalog(store.root)
    before = catalog.read_bytes()
    path = record(store, "broken")
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"broken-20261121\.json: is not a run record") as caught:
        rebuild_catalog(store.root)
    assert "\n" not in str(caught.value)
    assert catalog.read_bytes() == before


def test_a_damaged_artifact_is_named(store, three_tasks):
    """A Parquet file that is no Parquet file is named, with what to do."""
    keys = publish(store, three_tasks)
    (store.folder("execution", keys["execution"]) / "part-0.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(ArtifactError, match=f"{keys['execution']}.*run its stage again"):
        rebuild_catalog(store.root)
    assert not list(store.root.glob(".*.tmp*"))
