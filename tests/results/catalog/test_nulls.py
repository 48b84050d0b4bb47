"""Null where a value does not exist: a walk through every view of a store with runs of every kind."""

import math

import pyarrow.parquet as pq
import pytest

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, SamplesConfig
from bigcodeflow.generation import load_samples
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.store import open_store
from tests.extensions.harnesses.test_importing import TASKS as STARTER_TASKS
from tests.extensions.harnesses.test_importing import entry, scores, take_in, write
from tests.results.catalog.conftest import STUDY_VIEWS, VIEWS, ask, publish, record
from tests.results.conftest import Tables


def not_numbers(value):
    """Every NaN within a value, in lists and structs too."""
    if isinstance(value, dict):
        return [found for inner in value.values() for found in not_numbers(inner)]
    if isinstance(value, list | tuple):
        return [found for inner in value for found in not_numbers(inner)]
    return [value] if isinstance(value, float) and math.isnan(value) else []


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """Imported runs with and without ground truths, starter answers, several samples a task, a provisional run of
    which no sample was judged, and verdicts with NaN as an import of an earlier version wrote them."""
    tmp_path = tmp_path_factory.mktemp("walked")
    store = open_store(tmp_path / "it's a [store]")
    view = {"split": "complete", "subset": "hard"}
    several, unjudged, older = (Tables(tmp_path / name) for name in ("several", "unjudged", "older"))
    for index in range(3):
        several.task(f"Demo/{index}", domains=["Math"])
        for sample in range(4):
            several.sample(f"Demo/{index}", "pass" if sample > index else "fail", index=sample, kind="assertion")
    unjudged.task("Demo/1")
    unjudged.sample("Demo/1", "infra_error", kind="infrastructure")
    older.task("Demo/1")
    older.sample("Demo/1", "fail", tests=[{"name": "a", "outcome": "fail", "seconds": math.nan, "trace": "T"}])
    older.rows["verdicts"][0] |= {"wall_seconds": math.nan, "cpu_seconds": math.nan, "backend": "imported"}
    for name, tables in (("several", several), ("unjudged", unjudged), ("older", older)):
        record(store, name, artifacts=publish(store, tables, name), model=name, config={"dataset": view})
    tasks = datasets.load_tasks(DatasetConfig(), datasets.resolve(DatasetConfig()))
    answers = load_samples(SamplesConfig(), tasks, known_task_ids=frozenset(), selection=False)
    store.publish("generation", "5" * 64, answers, settings={})
    record(store, "starter", artifacts={"generation": "5" * 64}, model="starter", config={"dataset": view})
    entries = [entry(0), entry(1, "fail", {"test_x": "T"}), entry(2, "timeout")]
    take_in(write(tmp_path / "plain", entries), store.root)
    stem = "n--main--bigcodebench-instruct--vllm-0-1"
    figures = scores(1 / 3, [STARTER_TASKS[2]["task_id"]], model="n--main", split="instruct")
    take_in(write(tmp_path / "scored", entries, stem=stem, scores=figures, date="2025-06-01 10:00"), store.root)
    return store, rebuild_catalog(store.root)


def test_every_view_has_model_split_and_subset_and_no_nan(walked):
    """Whatever DuckDB shows of the store; the files themselves do hold NaN, where fewer than k samples were judged."""
    store, catalog = walked
    kept = [not_numbers(pq.read_table(path).to_pylist()) for path in store.root.glob("*/*/part-0.parquet")]
    assert sum(map(len, kept)) > 3
    found = {
        name for (name,) in ask(catalog, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'")
    }
    assert found == VIEWS | STUDY_VIEWS
    for view in sorted(VIEWS):
        columns = [name for (name, *_) in ask(catalog, f'DESCRIBE "{view}"')]
        assert {"model", "split", "subset"} <= set(columns), view
        rows = ask(catalog, f'SELECT * FROM "{view}"')
        assert rows or view == "left_out", view
        assert not_numbers(rows) == [], view


def test_averages_over_imported_runs_leave_out_what_is_not_known(walked):
    """A time or a score that does not exist is in no mean."""
    _, catalog = walked
    [(seconds, known)] = ask(catalog, "SELECT avg(wall_seconds), count(wall_seconds) FROM verdicts")
    assert (seconds, known) == (1.0, 13)
    assert ask(catalog, "SELECT pass_at_k, provisional FROM pass_at_k WHERE run = 'unjudged'") == [(None, True)]
    [(mean,)] = ask(catalog, "SELECT avg(value) FROM metrics WHERE metric = 'pass@k' AND slice_kind = 'all' AND k = 1")
    assert 0 < mean < 1


def test_what_an_import_does_not_tell_is_null(walked):
    """Environment, sanitizer, answers, times and tests; scores are found although the sanitizer is null."""
    _, catalog = walked
    of = "WHERE model = 'n--main'"
    assert ask(catalog, f"SELECT DISTINCT sanitizer, environment_sha, attempts, cpu_seconds FROM verdicts {of}") == [
        (None,) * 4
    ]
    assert ask(catalog, f"SELECT DISTINCT raw_text, attempts FROM samples {of}") == [(None, None)]
    assert ask(catalog, f"SELECT n_answers, n_refused, cpu_seconds, run_seconds FROM costs {of}") == [(None,) * 4]
    found = ask(catalog, f"SELECT status, failing_tests FROM failures {of} ORDER BY status")
    assert [(status, tests is None) for status, tests in found] == [("fail", False), ("timeout", True)]
    [score] = ask(catalog, f"SELECT pass_at_k, pass_at_k_judgeable, ground_truth_rate FROM pass_at_k {of} AND k = 1")
    assert score == (1 / 3, 1 / 2, 2 / 3)
    path = "config->'execution'->'limits'->>'time_seconds', config->'generation'->'sampling'->>'temperature'"
    assert ask(catalog, f"SELECT split, {path} FROM runs {of}") == [("instruct", None, "0.0")]


def test_an_artifact_of_different_runs_has_what_they_agree_on(store, three_tasks):
    """Stage views name the model, split and subset of an artifact's runs; null where no run has it, or they differ."""
    keys = publish(store, three_tasks, "first")
    for name in ("complete", "instruct"):
        config = {"dataset": {"split": name, "subset": "hard"}}
        record(store, name, artifacts=keys, model="m", config=config)
    (store.root / "runs" / "first-20261121.json").unlink()
    store.publish("dataset", "0" * 64, three_tasks.table("tasks"), settings={})
    catalog = rebuild_catalog(store.root)
    assert set(ask(catalog, "SELECT artifact, model, split, subset FROM dataset")) == {
        (keys["dataset"], "m", None, "hard"),
        ("0" * 64, None, None, None),
    }
    assert set(ask(catalog, "SELECT run, split FROM verdicts")) == {("complete", "complete"), ("instruct", "instruct")}
