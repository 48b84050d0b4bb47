"""Small real tables, written as Parquet, for the tests of the results."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.core.schemas import SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.results.aggregation import aggregate

CODE_PROMPT = "import math\ndef task_func(x):\n"


class Tables:
    """Collects rows and writes the four Parquet files that the results read."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = {"tasks": [], "verdicts": [], "ground_truth": [], "solutions": []}

    def task(self, task_id, *, domains=(), libs=(), ground_truth="pass", kind="", code_prompt=CODE_PROMPT, flaky=None):
        texts = dict.fromkeys(("complete_prompt", "instruct_prompt", "canonical_solution", "test", "doc_struct"), "")
        self.rows["tasks"].append(
            {
                **texts,
                "task_id": task_id,
                "position": len(self.rows["tasks"]),
                "code_prompt": code_prompt,
                "entry_point": "task_func",
                "libs": list(libs),
                "domains": list(domains),
                "hard": False,
                "expected_tests": ["test_a"],
            }
        )
        if ground_truth:
            self.verdict(task_id, ground_truth, kind=kind, sanitizer="none", table="ground_truth", flaky=flaky)

    def sample(self, task_id, status="pass", *, index=0, variants=("calibrated",), sanitizer="parity", **more):
        """A solution with one verdict of each variant."""
        flags = {name: more.pop(name, False) for name in ("blocked", "omitted_setup", "placeholder", "truncated")}
        self.rows["solutions"].append(
            {
                **flags,
                "task_id": task_id,
                "sample_index": index,
                "sanitizer": sanitizer,
                "solution": more.pop("solution", f"solution {index}"),
                "syntax_ok": more.pop("syntax_ok", True),
                "syntax_error": "",
                "findings": more.pop("findings", []),
            }
        )
        for variant in variants:
            self.verdict(task_id, status, index=index, variant=variant, sanitizer=sanitizer, **more)

    def verdict(
        self, task_id, status, *, index=0, variant="calibrated", sanitizer="parity", table="verdicts", kind="", **more
    ):
        self.rows[table].append(
            {
                "task_id": task_id,
                "sample_index": index,
                "variant": variant,
                "sanitizer": sanitizer,
                "verdict_key": "0" * 64,
                "status": status,
                "failure_kind": kind,
                "tests": more.get("tests", []),
                "module_trace": more.get("module_trace", ""),
                "tests_expected": 1,
                "tests_run": 1,
                "wall_seconds": 1.0,
                "cpu_seconds": 1.0,
                "test_cpu_seconds": 0.5,
                "max_rss_mib": 64.0,
                "stdout": "",
                "stderr": "",
                "stdout_truncated": False,
                "stderr_truncated": False,
                "attempts": 1,
                "flaky": more.get("flaky"),
                "tampering": [],
                "backend": "local",
                "environment_sha": "e" * 64,
                "exit": more.get("exit", "exit 0"),
            }
        )

    def table(self, name):
        schema = {"tasks": TASKS, "solutions": SOLUTIONS}.get(name, VERDICTS)
        return pa.Table.from_pylist(self.rows[name], schema=schema)

    def paths(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.rows:
            pq.write_table(self.table(name), self.folder / f"{name}.parquet", compression="zstd")
        return {name: self.folder / f"{name}.parquet" for name in self.rows}

    def metrics(self, k=(1,), split="complete", subset="full", **quarantine):
        return aggregate(**self.paths(), split=split, subset=subset, k=k, **quarantine)


@pytest.fixture
def tables(tmp_path):
    """A builder of tables in a folder whose name a pattern-minded reader would misread."""
    return Tables(tmp_path / "run [1] o'clock*")


@pytest.fixture
def three_tasks(tables):
    """One pass, one fail, and one pass whose ground truth fails."""
    tables.task("Demo/2", domains=["Math"], libs=["math", "random"])
    tables.task("Demo/10", domains=["Math", "Network"], libs=["socket"])
    tables.task("Demo/3", domains=["Network"], libs=["socket"], ground_truth="fail", kind="missing_setup")
    tables.sample("Demo/2", "pass")
    tables.sample("Demo/10", "fail", kind="assertion", truncated=True)
    tables.sample("Demo/3", "pass")
    return tables


@pytest.fixture
def tables_in():
    """The builder itself, for tests that need several."""
    return Tables


@pytest.fixture(scope="session")
def reference_data():
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the reference data is absent: {folder.name} folder not found beside the checkout")
    return folder
