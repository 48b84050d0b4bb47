"""Stores with published artifacts and recorded runs, and questions to their catalogs."""

import json

import duckdb

from bigcodeflow.store import artifact_key

STAGES = {"tasks": "dataset", "solutions": "sanitizing", "verdicts": "execution", "ground_truth": "execution"}
VIEWS = {
    "aggregation", "costs", "dataset", "execution", "failure_counts", "failures", "generation", "ground_truths",
    "left_out", "metrics", "pass_at_k", "runs", "samples", "sanitizing", "solutions", "solve_rate", "verdicts",
}  # fmt: skip


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
