"""What the views of a catalog show of a real store."""

from bigcodeflow.results.catalog.building import rebuild_catalog
from tests.results.catalog.conftest import VIEWS, ask, publish, record


def test_an_empty_store_has_an_empty_catalog(store):
    """Before the first run every view and table answers, with no rows."""
    catalog = rebuild_catalog(store.root)
    assert catalog == store.root / "results.duckdb"
    views = {name for (name,) in ask(catalog, "SELECT table_name FROM duckdb_columns() WHERE schema_name = 'main'")}
    assert views >= VIEWS
    assert {view: ask(catalog, f"SELECT count(*) FROM {view}") for view in VIEWS} == {view: [(0,)] for view in VIEWS}


def test_lists_keep_their_types_and_unfinished_work_is_not_seen(store, three_tasks):
    """Nested columns come through the view as in the Parquet file; a folder without a manifest is no artifact."""
    keys = publish(store, three_tasks)
    question = "SELECT domains FROM dataset WHERE task_id = 'Demo/10'"
    assert ask(rebuild_catalog(store.root), question) == [(["Math", "Network"],)]
    (store.folder("dataset", keys["dataset"]) / "manifest.json").unlink()
    assert ask(rebuild_catalog(store.root), "SELECT count(*) FROM dataset") == [(0,)]


def test_an_older_artifact_without_a_column_is_still_read(store, three_tasks):
    """A column that an older version did not write is null, and the views over it still stand."""
    publish(store, three_tasks)
    older = three_tasks.table("verdicts").drop_columns(["flaky", "exit"])
    store.publish("execution", "0" * 64, older, settings={})
    question = f"SELECT count(*), count(exit) FROM execution WHERE artifact = '{'0' * 64}'"
    assert ask(rebuild_catalog(store.root), question) == [(3, 0)]


def test_runs_have_times_in_utc_their_keys_and_their_verdicts(store, three_tasks):
    """A record is a row, times are UTC, stages not reached are null; runs that share an artifact have its verdicts."""
    keys = publish(store, three_tasks)
    publish(store, three_tasks, "other")
    record(store, "again", artifacts=keys)
    catalog = rebuild_catalog(store.root)
    columns = "record, run, started_at::VARCHAR, finished_at::VARCHAR, config->>'name', execution_key, generation_key"
    times = ("2026-11-21 09:00:00", "2026-11-21 09:30:00")
    expected = ("first-20261121", "first", *times, "first", keys["execution"], None)
    assert ask(catalog, f"SELECT {columns} FROM runs WHERE run = 'first'") == [expected]
    counts = [("again", 3), ("first", 3), ("other", 3)]
    assert ask(catalog, "SELECT run, count(*) FROM verdicts GROUP BY ALL ORDER BY 1") == counts
    assert ask(catalog, "SELECT task_id FROM ground_truths WHERE run = 'first' AND status <> 'pass'") == [("Demo/3",)]
    stored = ask(catalog, "SELECT artifact, count(*) FROM dataset GROUP BY ALL")
    assert stored == [(keys["dataset"], 3)]


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
