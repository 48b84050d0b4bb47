"""Measure seconds and memory of the catalog: for a store of many verdicts, and for a store of many small runs.

    python benchmarks/catalog.py [--models 100] [--samples 100] [--small-runs 1000]
        [--tasks TASKS.parquet --results *_eval_results.json.gz] [--keep FOLDER]

100 models, 1,140 tasks and 100 samples make 11.4 million verdicts. With --tasks and --results: recorded verdicts with
their tests and traces, each sample drawn from one of the files; numbers in traces, times, outputs and verdict keys are
changed from sample to sample. Without: made-up traces of 1,140 tasks. Raw answers and programs are short, since the
catalog reads neither; metrics are computed for the first model and used for all. Measured, each in a separate process:
a rebuild from nothing, a rebuild with nothing changed, a rebuild after one more run, and typical questions (the best of
three). Prints Markdown tables; exit code 1 if a rebuild takes over 60 s or 4 GiB, or the leaderboard over 2 s.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.schemas import METRICS, SAMPLES, SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.importing import import_results
from bigcodeflow.results import CATALOG_NAME, aggregate, rebuild_catalog
from bigcodeflow.results.runs import find_run, recorded_runs
from bigcodeflow.store import Store, open_store

_TASKS = 1_140
_STARTED = datetime(2026, 1, 1, tzinfo=UTC)
_MOST_REBUILD_SECONDS = 60.0
_MOST_LEADERBOARD_SECONDS = 2.0
_MOST_MIB = 4096

#: Typical questions; {run} is the run of one model.
QUESTIONS = {
    "leaderboard": "SELECT model, pass_at_k, ci_low, ci_high FROM pass_at_k WHERE k = 1 ORDER BY pass_at_k DESC",
    "failures of one model by kind": "SELECT failure_kind, sum(n_samples) FROM failure_counts WHERE run = '{run}' "
    "GROUP BY ALL ORDER BY 2 DESC",
    "the same from the failures themselves": "SELECT failure_kind, count(*) FROM failures WHERE run = '{run}' "
    "GROUP BY ALL ORDER BY 2 DESC",
    "solve rate of every task over all models": "SELECT task_id, avg(solve_rate) FROM solve_rate GROUP BY ALL",
    "costs of every run": "SELECT run, cost_usd, completion_tokens, cpu_seconds FROM costs ORDER BY cost_usd DESC",
    "traces of one model's task": "SELECT sample_index, failing_tests, first_trace FROM failures "
    "WHERE run = '{run}' AND task_id = '{task}'",
    "statuses of all verdicts, from the files": "SELECT status, count(*) FROM verdicts GROUP BY ALL",
}

#: Grain: one row per sample of model $model: a source verdict of the same task, with changed texts and times.
_VERDICTS_SQL = """
WITH drawn AS (
    SELECT
        task_id, sample_index::INTEGER AS sample_index,
        hash($model, task_id, sample_index) AS draw,
        ($model * 7 + sample_index + hash(task_id) % 5) % $n_sources AS source
    FROM (SELECT DISTINCT task_id, position FROM base), range($n_samples) AS samples(sample_index)
)
SELECT
    drawn.task_id, drawn.sample_index, 'calibrated' AS variant, 'parity' AS sanitizer,
    sha256(draw::VARCHAR) AS verdict_key, status, failure_kind,
    list_transform(tests, lambda test: {
        'name': test.name, 'outcome': test.outcome, 'seconds': round((draw % 999) / 9999, 4),
        'trace': regexp_replace(test.trace, '[0-9]{2,}', (draw % 997)::VARCHAR, 'g')
    }) AS tests,
    module_trace, tests_expected, tests_run,
    round((draw % 99991) / 49999, 4) AS wall_seconds, round((draw % 49999) / 49999, 4) AS cpu_seconds,
    round((draw % 39989) / 49999, 4) AS test_cpu_seconds, round(64 + (draw % 9973) / 50, 1) AS max_rss_mib,
    CASE WHEN draw % 4 = 0 THEN repeat('step ' || draw % 89 || ': loss=' || draw % 9973 || chr(10), 12) ELSE '' END
        AS stdout,
    CASE WHEN status = 'pass' THEN '' ELSE 'UserWarning at line ' || draw % 997 END AS stderr,
    false AS stdout_truncated, false AS stderr_truncated, 1 AS attempts, NULL::BOOLEAN AS flaky,
    []::VARCHAR[] AS tampering, CASE WHEN status = 'pass' THEN 'checked' END AS integrity,
    NULL::VARCHAR AS integrity_key, 'local' AS backend, 'e' AS environment_sha, 'exit 0' AS exit
FROM drawn JOIN base USING (task_id, source) ORDER BY position, sample_index
"""


class Size(NamedTuple):
    """Size of a store."""

    models: int
    tasks: int
    samples: int
    """Answers of each model to each task."""


def fill_store(root: Path, base: pa.Table, tasks: pa.Table, size: Size, *, first: int = 0) -> None:
    """Publish and record one run per model, all on the same tasks and ground truths.

    Args:
        root: the store.
        base: verdicts to draw from: columns of VERDICTS, ``source`` (0, 1, …) and ``position`` of the task.
        tasks: in TASKS schema.
        size: how much.
        first: number of the first model.
    """
    store = open_store(root)
    tasks = tasks.slice(0, size.tasks)
    store.publish("dataset", "tasks", tasks, settings={})
    with duckdb.connect() as connection:
        connection.register("given", base)
        connection.execute(f"CREATE TABLE base AS FROM given WHERE position < {size.tasks}")
        store.publish("execution", "truths", _truths(connection), settings={})
        for model in range(first, first + size.models):
            _add_run(store, connection, model, size)


def _truths(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    replaced = "0::INTEGER AS sample_index, 'none' AS sanitizer, 'pass' AS status, '' AS failure_kind"
    sql = f"SELECT * EXCLUDE (source, position) REPLACE ({replaced}) FROM base WHERE source = 0 ORDER BY position"
    return connection.sql(sql).to_arrow_table().cast(VERDICTS)


def _add_run(store: Store, connection: duckdb.DuckDBPyConnection, model: int, size: Size) -> None:
    key = f"model-{model}"
    [(n_sources,)] = connection.execute("SELECT max(source) + 1 FROM base").fetchall()
    drawn = {"model": model, "n_sources": n_sources, "n_samples": size.samples}
    verdicts = connection.sql(_VERDICTS_SQL, params=drawn).to_arrow_table().cast(VERDICTS)
    store.publish("execution", key, verdicts, settings={})
    places = verdicts.select(["task_id", "sample_index"])
    store.publish("generation", key, _samples(places), settings={})
    store.publish("sanitizing", key, _solutions(places), settings={})
    metrics = store.root / "aggregation" / "model-0"
    table = _metrics(store, key) if not metrics.is_dir() else pq.read_table(metrics / "part-0.parquet")
    store.publish("aggregation", key, table, settings={})
    _record(store, model)


def _samples(places: pa.Table) -> pa.Table:
    numbered = "row_number() OVER () AS n"
    return _selected(
        f"SELECT task_id, sample_index, 'answer ' || n AS raw_text, 'openai' AS provider, 'stop' AS finish_reason, "
        f"300 AS prompt_tokens, 200 + n % 400 AS completion_tokens, 0.00001 * (n % 400) AS cost_usd, "
        f"1 + (n % 1000) / 300 AS latency_seconds, 1 AS attempts FROM (SELECT *, {numbered} FROM places)",
        places,
        SAMPLES,
    )


def _solutions(places: pa.Table) -> pa.Table:
    return _selected(
        "SELECT *, 'parity' AS sanitizer, 'pass' AS solution, true AS syntax_ok, '' AS syntax_error, [] AS findings, "
        "false AS blocked, false AS omitted_setup, false AS placeholder, false AS truncated FROM places",
        places,
        SOLUTIONS,
    )


def _selected(sql: str, places: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the query's columns in the schema of a stage; columns missing in the query are null."""
    with duckdb.connect() as connection:
        connection.register("places", places)
        found = connection.sql(sql).to_arrow_table()
    columns = [
        found[entry.name].cast(entry.type) if entry.name in found.schema.names else pa.nulls(len(found), entry.type)
        for entry in schema
    ]
    return pa.table(columns, schema=schema)


def _metrics(store: Store, key: str) -> pa.Table:
    files = {"tasks": ("dataset", "tasks"), "ground_truth": ("execution", "truths")}
    files |= {"verdicts": ("execution", key), "solutions": ("sanitizing", key)}
    paths = {name: store.folder(*place) / "part-0.parquet" for name, place in files.items()}
    return aggregate(**paths, split="complete", subset="full", k=(1, 5, 10)).cast(METRICS)


def _record(store: Store, model: int) -> None:
    key, started = f"model-{model}", _STARTED + timedelta(hours=model)
    record = {
        "run": key,
        "model": f"org--model-{model:04}-instruct",
        "started_at": started.isoformat(),
        "finished_at": (started + timedelta(minutes=41)).isoformat(),
        "config": {"dataset": {"split": "complete", "subset": "full"}},
        "artifacts": {"dataset": "tasks", "ground_truth": "truths"}
        | dict.fromkeys(("generation", "sanitizing", "execution", "aggregation"), key),
    }
    folder = store.root / "runs"
    folder.mkdir(exist_ok=True)
    (folder / f"{started:%Y%m%dT%H%M%S}-{key}.json").write_text(json.dumps(record))


class _Silent:
    """Listener that ignores the stages of an import."""

    def begin(self, _title: str) -> Any:
        return lambda *_counts, **_more: None

    def end(self, _title: str, _ref: object, *, reused: bool) -> None:
        del reused


def recorded_base(tasks: Path, results: list[Path]) -> tuple[pa.Table, pa.Table]:
    """Import recorded result files; return the tasks and the verdicts. Each file is a source."""
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for source, path in enumerate(results):
            import_results(path, settings={"source": str(tasks)}, store=Path(folder), listener=_Silent(), name="one")
            runs = {run.config["samples"]["source"]: run for run in recorded_runs(folder)}
            run = runs[str(path)]
            verdicts = pq.read_table(run.path("execution"))
            tables.append(verdicts.append_column("source", pa.array([source] * len(verdicts), pa.int64())))
        table = pq.read_table(find_run(folder, "latest").path("dataset"))
    base = pa.concat_tables(tables)
    places = {row["task_id"]: row["position"] for row in table.select(["task_id", "position"]).to_pylist()}
    position = pa.array([places[task_id] for task_id in base["task_id"].to_pylist()], pa.int64())
    return table, base.append_column("position", position)


def made_up_base() -> tuple[pa.Table, pa.Table]:
    """Make 1,140 tasks with two verdicts each, of which every second fails with traces of five tests."""
    texts = dict.fromkeys(
        ("complete_prompt", "instruct_prompt", "canonical_solution", "code_prompt", "test", "doc_struct"), ""
    )
    names = [f"test_case_{n}" for n in range(5)]
    lists = {"libs": ["math"], "domains": ["Computation"], "expected_tests": names}
    tasks = [
        {**texts, **lists, "task_id": f"Task/{n}", "position": n, "entry_point": "task_func", "hard": n % 8 == 0}
        for n in range(_TASKS)
    ]
    rows = [_made_up(task, source) for task in tasks for source in (0, 1)]
    places = [{"source": source, "position": task["position"]} for task in tasks for source in (0, 1)]
    base = pa.Table.from_pylist(rows, schema=VERDICTS)
    for name in ("source", "position"):
        base = base.append_column(name, pa.array([place[name] for place in places], pa.int64()))
    return pa.Table.from_pylist(tasks, schema=TASKS), base


def _made_up(task: dict[str, Any], source: int) -> dict[str, Any]:
    failing = (task["position"] + source) % 2 == 1
    trace = "Traceback (most recent call last):\n" + '  File "__test__.py", line 1042, in test_case\n' * 4
    outcome = {"outcome": "fail", "trace": trace + "AssertionError: 1234 != 1235"}
    outcome = outcome if failing else {"outcome": "pass", "trace": ""}
    zeros = dict.fromkeys(("wall_seconds", "cpu_seconds", "test_cpu_seconds", "max_rss_mib"), 0.0)
    empty = dict.fromkeys(("verdict_key", "module_trace", "stdout", "stderr", "environment_sha"), "")
    return {
        **zeros,
        **empty,
        "task_id": task["task_id"],
        "sample_index": 0,
        "variant": "calibrated",
        "sanitizer": "parity",
        "status": "fail" if failing else "pass",
        "failure_kind": "assertion" if failing else "",
        "tests": [{"name": name, "seconds": 0.01, **outcome} for name in task["expected_tests"]],
        "tests_expected": 5,
        "tests_run": 5,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "attempts": 1,
        "tampering": [],
        "backend": "local",
        "exit": "exit 0",
    }


class Rebuild(NamedTuple):
    """Cost of one rebuild."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def rebuild_apart(root: Path) -> Rebuild:
    """Rebuild the catalog in a separate process."""
    command = [sys.executable, __file__, "--rebuild", str(root)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Rebuild(**json.loads(done.stdout))


def _rebuild_here(root: Path) -> Rebuild:
    began, cpu_began = time.perf_counter(), time.process_time()
    rebuild_catalog(root)
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    return Rebuild(seconds, cpu_seconds, _peak_mib())


def _peak_mib() -> float:
    """Return the peak resident memory of this process in MiB; getrusage would include that of the parent process."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


def ask(root: Path, run: str, task: str) -> dict[str, float]:
    """Return the seconds of each question: the best of three, each over a new connection, as a client would open it."""
    found = {}
    for name, question in QUESTIONS.items():
        times = []
        for _ in range(3):
            began = time.perf_counter()
            with duckdb.connect(root / CATALOG_NAME, read_only=True) as connection:
                connection.execute(question.format(run=run, task=task)).fetchall()
            times.append(time.perf_counter() - began)
        found[name] = min(times)
    return found


def measure(root: Path, base: pa.Table, tasks: pa.Table, size: Size) -> bool:
    """Rebuild three times, ask the questions and print the costs; return True if the goals are met."""
    (root / CATALOG_NAME).unlink(missing_ok=True)
    rebuilds = {"from nothing": rebuild_apart(root), "nothing changed": rebuild_apart(root)}
    fill_store(root, base, tasks, size._replace(models=1), first=size.models)
    rebuilds["one run more"] = rebuild_apart(root)
    runs = size.models + 1
    stored = sum(path.stat().st_size for path in root.glob("*/*/*.parquet"))
    catalog = (root / CATALOG_NAME).stat().st_size
    print(f"\n{runs:,} runs, {runs * size.tasks * size.samples:,} verdicts; ", end="")
    print(f"artifacts {stored / 1e9:.2f} GB, catalog {catalog / 1e6:.1f} MB\n")
    print("| rebuild | wall s | CPU s | peak memory, MiB |\n| --- | ---: | ---: | ---: |")
    for name, took in rebuilds.items():
        print(f"| {name} | {took.seconds:.2f} | {took.cpu_seconds:.2f} | {took.peak_mib:,.0f} |")
    questions = ask(root, "model-1", tasks["task_id"][1].as_py())
    print("\n| question | wall s |\n| --- | ---: |")
    for name, seconds in questions.items():
        print(f"| {name} | {seconds:.3f} |", flush=True)
    return (
        max(took.seconds for took in rebuilds.values()) <= _MOST_REBUILD_SECONDS
        and max(took.peak_mib for took in rebuilds.values()) <= _MOST_MIB
        and questions["leaderboard"] <= _MOST_LEADERBOARD_SECONDS
    )


def main() -> None:
    """Fill two stores and measure the catalogs over them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--samples", type=int, default=100, help="answers of a model to each task")
    parser.add_argument("--small-runs", type=int, default=1000, help="runs of 20 tasks, in a store of their own")
    parser.add_argument("--tasks", type=Path, help="task file of the recorded results")
    parser.add_argument("--results", nargs="+", type=Path, default=[], help="recorded *_eval_results.json.gz files")
    parser.add_argument("--keep", type=Path, help="folder for the stores; those that are there already are taken")
    parser.add_argument("--rebuild", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rebuild:
        print(json.dumps(_rebuild_here(arguments.rebuild)._asdict()))
        return
    tasks, base = recorded_base(arguments.tasks, arguments.results) if arguments.tasks else made_up_base()
    sizes = {"large": Size(arguments.models, _TASKS, arguments.samples), "small": Size(arguments.small_runs, 20, 1)}
    with tempfile.TemporaryDirectory() as temporary:
        kept = []
        for name, size in sizes.items():
            root = (arguments.keep or Path(temporary)) / name
            if not root.is_dir():
                fill_store(root, base, tasks, size)
            kept.append(measure(root, base, tasks, size))
        sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
