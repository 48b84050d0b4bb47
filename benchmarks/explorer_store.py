"""Make stores of made-up runs of made-up models on the starter set's tasks, for the explorer's benchmark and pictures.

Answers are drawn at random: each model has a skill, each task a difficulty, and a few outcomes change every night.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.schemas import METRICS, SAMPLES, SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.results import aggregate
from bigcodeflow.results.statistics import clustered_interval
from bigcodeflow.store import Store, open_store

#: Start of the last night.
LAST_NIGHT = datetime(2026, 11, 24, 2, tzinfo=UTC)

_TRACE = """Traceback (most recent call last):
  File "__test__.py", line 42, in test_case
    self.assertEqual(task_func(data), expected)
  File "/usr/lib/python3.10/unittest/case.py", line 845, in assertEqual
    assertion_func(first, second, msg=msg)
"""

#: Grain: one row per task: the outcome of model $model with skill $skill on night $night.
_OUTCOMES = """
CREATE OR REPLACE TEMP TABLE outcomes AS WITH drawn AS (
    SELECT
        *,
        (hash(task_id) % 10007) / 10007.0 AS difficulty,
        (hash($model, task_id) % 10007) / 10007.0 AS luck,
        (hash($model, $night, task_id) % 10007) / 10007.0 AS tonight
    FROM tasks
), judged AS (
    SELECT *, (luck < 1 / (1 + exp(6 * (difficulty - $skill)))) <> (tonight < 0.03) AS passes FROM drawn
)
SELECT
    * EXCLUDE (difficulty, passes),
    code_prompt || chr(10) || CASE WHEN passes THEN canonical_solution ELSE '    return None  # not finished' END
        AS solution,
    180 + (900 * tonight)::INTEGER AS tokens,
    CASE
        WHEN passes THEN 'pass' WHEN luck > 0.97 THEN 'timeout' WHEN luck > 0.95 THEN 'crash'
        WHEN luck > 0.94 THEN 'out_of_memory' WHEN luck > 0.93 THEN 'syntax_error' ELSE 'fail'
    END AS status,
    CASE
        WHEN passes THEN '' WHEN luck > 0.97 THEN 'timeout' WHEN luck > 0.95 THEN 'crash' WHEN luck > 0.94 THEN 'memory'
        WHEN luck > 0.93 THEN 'syntax' WHEN hash(task_id, $model) % 5 = 0 THEN 'exception'
        WHEN hash(task_id, $model) % 5 = 1 THEN 'wrong_api' ELSE 'assertion'
    END AS failure_kind,
    CASE failure_kind
        WHEN 'exception' THEN 'ValueError: could not convert row ' || (1000 * tonight)::INTEGER || ' to a number'
        WHEN 'wrong_api' THEN 'AttributeError: "list" object has no attribute "median"'
        WHEN 'assertion' THEN 'AssertionError: None != ' || (100 * tonight)::INTEGER
    END AS ending
FROM judged
"""

_ANSWERS = """
SELECT
    task_id, 0 AS sample_index, 'openai' AS provider, 1 AS attempts, $model AS served_model, 'stop' AS finish_reason,
    'Here is the function:' || chr(10) || '```python' || chr(10) || solution || chr(10) || '```' AS raw_text,
    310 AS prompt_tokens, tokens AS completion_tokens, tokens * 1e-5 AS cost_usd,
    round(1 + 9 * tonight, 2) AS latency_seconds
FROM outcomes ORDER BY position
"""

_SOLUTIONS = """
SELECT
    task_id, 0 AS sample_index, 'parity' AS sanitizer, solution, status <> 'syntax_error' AS syntax_ok,
    '' AS syntax_error, [] AS findings, false AS blocked, false AS omitted_setup, false AS placeholder,
    false AS truncated
FROM outcomes ORDER BY position
"""

_VERDICTS = """
SELECT
    task_id, 0 AS sample_index, 'calibrated' AS variant, $sanitizer AS sanitizer,
    sha256(task_id || $sanitizer || tonight) AS verdict_key, status, failure_kind,
    list_transform(expected_tests, lambda name, number: {
        'name': name,
        'outcome': CASE
            WHEN status = 'pass' THEN 'pass' WHEN ending IS NULL THEN 'missing' WHEN number % 2 = 0 THEN 'pass'
            WHEN failure_kind = 'assertion' THEN 'fail' ELSE 'error'
        END,
        'seconds': round(tonight / 5, 4),
        'trace': CASE WHEN ending IS NOT NULL AND number % 2 = 1 THEN $trace || ending ELSE '' END
    }) AS tests,
    '' AS module_trace, len(expected_tests) AS tests_expected, len(expected_tests) AS tests_run,
    round(0.2 + 3 * tonight, 3) AS wall_seconds, round(0.1 + 2 * tonight, 3) AS cpu_seconds,
    round(tonight, 3) AS test_cpu_seconds, round(60 + 200 * tonight, 1) AS max_rss_mib,
    CASE WHEN status = 'pass' THEN 'loaded 12 rows' ELSE '' END AS stdout, '' AS stderr, false AS stdout_truncated,
    false AS stderr_truncated, 1 AS attempts, [] AS tampering,
    CASE WHEN status = 'pass' THEN 'checked' END AS integrity,
    'local' AS backend, repeat('e', 64) AS environment_sha,
    CASE WHEN status = 'timeout' THEN 'killed: cpu' ELSE 'exit 0' END AS exit
FROM outcomes ORDER BY position
"""


class MadeUpModel(NamedTuple):
    """A model, its skill, and the prompts that it gets."""

    name: str
    skill: float
    """At 0.5 the model solves about half of the tasks."""
    split: str = "complete"
    subset: str = "full"
    last_skill: float | None = None
    """Skill in the last night; None: unchanged."""


def fill(root: Path, models: Sequence[MadeUpModel], *, nights: int, tasks: pa.Table, exact: bool = True) -> None:
    """Publish and record a run of each model on each night.

    Args:
        root: the store.
        models: each gets one run a night.
        nights: number of nights; the last one is LAST_NIGHT.
        tasks: in TASKS schema.
        exact: compute every metric of every run; otherwise all runs share those of the first run, except the score.
    """
    store = open_store(root)
    store.publish("dataset", "tasks", tasks, settings={})
    with duckdb.connect() as connection:
        connection.register("tasks", tasks)
        connection.execute(_OUTCOMES, {"model": "", "night": 0, "skill": 100.0})
        connection.execute("UPDATE outcomes SET status = 'pass', failure_kind = '', ending = NULL")
        truths = _table(connection, _VERDICTS, VERDICTS, sanitizer="none", trace="")
        store.publish("execution", "truths", truths, settings={})
        for night in range(nights):
            for place, model in enumerate(models):
                began = LAST_NIGHT - timedelta(days=nights - 1 - night) + timedelta(minutes=17 * place)
                last = night == nights - 1 and model.last_skill is not None
                drawn = {"model": model.name, "night": night, "skill": model.last_skill if last else model.skill}
                connection.execute(_OUTCOMES, drawn)
                _record(store, connection, model, began, exact=exact)


def starter_tasks(n_tasks: int = 0, name: str = "Starter") -> pa.Table:
    """Return `n_tasks` tasks: the starter set's tasks, repeated under further numbers; 0 takes each once."""
    config = DatasetConfig(source="starter")
    rows = load_tasks(config, resolve(config)).to_pylist()
    numbered = range(n_tasks or len(rows))
    return pa.Table.from_pylist(
        [rows[n % len(rows)] | {"task_id": f"{name}/{n}", "position": n, "hard": n % 8 == 0} for n in numbered],
        schema=TASKS,
    )


def _table(connection: duckdb.DuckDBPyConnection, sql: str, schema: pa.Schema, **parameters: object) -> pa.Table:
    """Return the query's columns in the schema of a stage; columns missing in the query are null."""
    found = connection.sql(sql, params=parameters).to_arrow_table()
    columns = [
        found[entry.name].cast(entry.type) if entry.name in found.schema.names else pa.nulls(len(found), entry.type)
        for entry in schema
    ]
    return pa.table(columns, schema=schema)


def _record(
    store: Store, connection: duckdb.DuckDBPyConnection, model: MadeUpModel, began: datetime, *, exact: bool
) -> None:
    run = f"{model.name}-{model.split}-{model.subset}"
    record = f"{began:%Y%m%dT%H%M%S.%f}-{run}"
    key = hashlib.sha256(record.encode()).hexdigest()
    tables = {
        "generation": _table(connection, _ANSWERS, SAMPLES, model=model.name),
        "sanitizing": _table(connection, _SOLUTIONS, SOLUTIONS),
        "execution": _table(connection, _VERDICTS, VERDICTS, sanitizer="parity", trace=_TRACE),
    }
    for stage, table in tables.items():
        store.publish(stage, key, table, settings={})
    store.publish("aggregation", key, _metrics(store, key, model, tables["execution"], exact=exact), settings={})
    config = {
        "name": run,
        "dataset": {"source": "starter", "split": model.split, "subset": model.subset},
        "samples": {"source": "model"},
        "generation": {"model": f"openai:{model.name}", "sampling": {"temperature": 0.0, "max_tokens": 4096}},
        "execution": {"environment": "starter", "backend": "local"},
    }
    content = {
        "run": run,
        "model": model.name,
        "started_at": began.isoformat(),
        "finished_at": (began + timedelta(minutes=9, seconds=int(600 * model.skill))).isoformat(),
        "config": config,
        "artifacts": {"dataset": "tasks", "ground_truth": "truths", **dict.fromkeys((*tables, "aggregation"), key)},
    }
    folder = store.root / "runs"
    folder.mkdir(exist_ok=True)
    (folder / f"{record}.json").write_text(json.dumps(content))


def _metrics(store: Store, key: str, model: MadeUpModel, verdicts: pa.Table, *, exact: bool) -> pa.Table:
    first = None if exact else next(iter(store.published("aggregation")), None)
    if first is None:
        places = {"tasks": ("dataset", "tasks"), "ground_truth": ("execution", "truths")}
        places |= {"verdicts": ("execution", key), "solutions": ("sanitizing", key)}
        paths = {name: store.folder(*place) / "part-0.parquet" for name, place in places.items()}
        return aggregate(**paths, split=model.split, subset=model.subset, k=(1,)).cast(METRICS)
    passed = [float(status == "pass") for status in verdicts["status"].to_pylist()]
    low, high = clustered_interval(passed) or (None, None)
    score = {"value": sum(passed) / len(passed), "ci_low": low, "ci_high": high}
    metrics = [
        row | (score if (row["metric"], row["slice_kind"]) == ("pass@k", "all") else {}) | {"split": model.split}
        for row in pq.read_table(first).to_pylist()
    ]
    return pa.Table.from_pylist(metrics, schema=METRICS)
