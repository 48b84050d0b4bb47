"""Small real tables, written as Parquet, and stores with runs recorded over them, for the tests of the results."""

import hashlib
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, STAGE_FOLDERS, TASKS, VERDICTS
from bigcodeflow.results.aggregation import aggregate

CODE_PROMPT = "import math\ndef task_func(x):\n"
ARTIFACTS = {"dataset": "tasks", "sanitizing": "solutions", "execution": "verdicts", "ground_truth": "ground_truth"}
SCHEMAS = {"tasks": TASKS, "verdicts": VERDICTS, "ground_truth": VERDICTS, "solutions": SOLUTIONS}
#: What a sandbox that ended by itself measured.
MEASURED = {"wall_seconds": 1.0, "cpu_seconds": 1.0, "test_cpu_seconds": 0.5, "max_rss_mib": 64.0, "attempts": 1}
JUDGED = {"tests_expected": 1, "tests_run": 1, "backend": "local", "verdict_key": "0" * 64, "environment_sha": "e" * 64}


def blank(schema):
    """A row without contents: null where a column may be, else an empty text, false or an empty list."""
    empty = {pa.string(): "", pa.bool_(): False}
    return {one.name: None if one.nullable else empty.get(one.type, []) for one in schema}


class Tables:
    """Collects rows and writes the four Parquet files that the results read."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = {"tasks": [], "verdicts": [], "ground_truth": [], "solutions": []}

    def task(self, task_id, *, domains=(), libs=(), ground_truth="pass", kind="", code_prompt=CODE_PROMPT, flaky=None):
        row = {"task_id": task_id, "position": len(self.rows["tasks"]), "code_prompt": code_prompt, "hard": False}
        row |= {"entry_point": "task_func", "libs": list(libs), "domains": list(domains), "expected_tests": ["test_a"]}
        self.rows["tasks"].append(blank(TASKS) | row)
        if ground_truth:
            self.verdict(task_id, ground_truth, kind=kind, sanitizer="none", table="ground_truth", flaky=flaky)

    def sample(self, task_id, status="pass", *, index=0, variants=("calibrated",), sanitizer="parity", **more):
        """A solution with one verdict of each variant."""
        row = {"task_id": task_id, "sample_index": index, "sanitizer": sanitizer, "syntax_ok": True}
        row |= {"solution": f"solution {index}"} | {name: more.pop(name) for name in SOLUTIONS.names if name in more}
        self.rows["solutions"].append(blank(SOLUTIONS) | row)
        for variant in variants:
            self.verdict(task_id, status, index=index, variant=variant, sanitizer=sanitizer, **more)

    def verdict(
        self, task_id, status, *, index=0, variant="calibrated", sanitizer="parity", table="verdicts", kind="", **more
    ):
        row = {"task_id": task_id, "sample_index": index, "variant": variant, "sanitizer": sanitizer}
        row |= {"status": status, "failure_kind": kind, "tests": [], "exit": "exit 0"}
        self.rows[table].append(blank(VERDICTS) | MEASURED | JUDGED | row | more)

    def table(self, name):
        return pa.Table.from_pylist(self.rows[name], schema=SCHEMAS[name])

    def paths(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.rows:
            pq.write_table(self.table(name), self.folder / f"{name}.parquet", compression="zstd")
        return {name: self.folder / f"{name}.parquet" for name in self.rows}

    def metrics(self, k=(1,), split="complete", subset="full", **quarantine):
        return aggregate(**self.paths(), split=split, subset=subset, k=k, **quarantine)


def publish_run(store, tables, record, *, answers=None, metrics=None, without=(), settings=None, **content):
    """Publish the tables, record a run over them as the pipeline does, and return the keys of its artifacts.

    Equal tasks have one key, as in a store of the pipeline's. `settings` are those of every manifest.
    """
    made = {artifact: tables.table(name) for artifact, name in ARTIFACTS.items()}
    if answers is not None:
        made["generation"] = pa.Table.from_pylist(answers, schema=SAMPLES)
    if metrics is not None:
        made["aggregation"] = metrics
    keys = {}
    for artifact in made.keys() - set(without):
        identity = json.dumps(made[artifact].to_pylist(), default=str) if artifact == "dataset" else record
        keys[artifact] = hashlib.sha256(f"{identity} {artifact}".encode()).hexdigest()
        store.publish(STAGE_FOLDERS[artifact], keys[artifact], made[artifact], settings=settings or {})
    write_record(store, record, artifacts=keys, **content)
    return keys


def write_record(store, record, **content):
    content = {"started_at": "2026-11-21T10:00:00Z", **content}
    return store.write(f"runs/{record}.json", json.dumps(content).encode())


def printed(renderable, width=140):
    """What a terminal without colours shows."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(renderable)
    return console.file.getvalue()


def recorded_files(reference_data, model):
    """Files that the original wrote of a model: its results, scores beside them, and the evaluated samples."""
    folder = reference_data / "samples" / model
    patterns = ("*_eval_results.json.gz", "*_pass_at_k.json", "*_calibrated.jsonl.gz")
    [results], [scores], [samples] = map(folder.glob, patterns)
    return results, json.loads(scores.read_text()), samples


@pytest.fixture
def tables(tmp_path):
    """A builder of tables in a folder whose name a pattern-minded reader would misread."""
    return Tables(tmp_path / "run [1] o'clock*")


@pytest.fixture
def three_tasks(tables):
    """One pass, one fail, and one pass whose ground truth fails."""
    return add_three_tasks(tables)


def add_three_tasks(tables):
    tables.task("Demo/2", domains=["Math"], libs=["math", "random"])
    tables.task("Demo/10", domains=["Math", "Network"], libs=["socket"])
    tables.task("Demo/3", domains=["Network"], libs=["socket"], ground_truth="fail", kind="missing_setup")
    tables.sample("Demo/2", "pass")
    tables.sample("Demo/10", "fail", kind="assertion", truncated=True)
    tables.sample("Demo/3", "pass")
    return tables


@pytest.fixture(scope="session")
def reference_data():
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the reference data is absent: {folder.name} folder not found beside the checkout")
    return folder
