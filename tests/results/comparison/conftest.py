"""Small real stores with recorded runs, for the tests of comparisons."""

import hashlib
import json

import pyarrow as pa
import pytest

from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.results.comparison import compare, open_runs
from bigcodeflow.store import open_store

MOMENT = "2026-01-01T00:00:{:02d}+00:00"


class Runs:
    """Writes runs into a store, as the pipeline leaves them."""

    def __init__(self, root, tables_in):
        self.root = root
        self._tables_in = tables_in
        self._count = 0

    def add(
        self,
        name,
        statuses,
        *,
        model="",
        split="complete",
        variants=("calibrated",),
        sanitizer="parity",
        tests=None,
        facts=None,
        settings=None,
        config=None,
        samples=None,
        raw=None,
        environment="e" * 64,
        quarantine=(),
        seconds=None,
    ):
        """Record a run; ``statuses`` holds a status or a list of them for each task id."""
        tables = self._tables_in(self.root / "unused")
        for task_id, given in statuses.items():
            tables.task(task_id)
            tables.rows["tasks"][-1] |= {"test": (tests or {}).get(task_id, "test"), **(facts or {}).get(task_id, {})}
            for index, status in enumerate([given] if isinstance(given, str) else given):
                tables.sample(task_id, status, index=index, sanitizer=sanitizer, variants=variants)
                if raw is not None:
                    tables.verdict(task_id, raw[task_id], index=index, variant="raw", sanitizer=sanitizer)
        for row in tables.rows["verdicts"]:
            row["environment_sha"] = environment
        for row, measured in zip(tables.rows["verdicts"], seconds or (), strict=False):
            row["cpu_seconds"] = measured
        self._count += 1
        record = f"{self._count:02d}-{name}"
        artifacts = {
            "dataset": ("dataset", tables.table("tasks"), {}),
            "sanitizing": ("sanitizing", tables.table("solutions"), {}),
            "execution": ("execution", tables.table("verdicts"), settings or {"harness_version": 2, "limits": {}}),
        }
        if samples is not None:
            artifacts["generation"] = ("generation", pa.Table.from_pylist(samples, schema=SAMPLES), {})
        keys = {}
        for artifact, (stage, table, told) in artifacts.items():
            keys[artifact] = hashlib.sha256(f"{record} {artifact}".encode()).hexdigest()
            open_store(self.root).publish(stage, keys[artifact], table, settings=told)
        content = {
            "run": name,
            "model": model,
            "started_at": MOMENT.format(self._count),
            "config": {
                "dataset": {"split": split, "subset": "full"},
                "sanitizing": {"mode": sanitizer},
                **(config or {}),
            },
            "artifacts": keys,
            "quarantine": {"mode": "flag", "tasks": list(quarantine)},
        }
        folder = self.root / "runs"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{record}.json").write_text(json.dumps(content))
        return record

    def compare(self, *names, variant="calibrated", sanitizer="", **how):
        return compare(open_runs(self.root, names, variant=variant, sanitizer=sanitizer), **how)


@pytest.fixture
def runs(tmp_path, tables_in):
    """A store that runs can be added to."""
    return Runs(tmp_path / "store", tables_in)


@pytest.fixture
def outcomes():
    """Statuses of tasks Demo/0, Demo/1, … from a line such as '+-!t' (pass, fail, infra_error, timeout)."""
    words = {"+": "pass", "-": "fail", "!": "infra_error", "t": "timeout"}
    return lambda text: {f"Demo/{number}": words[sign] for number, sign in enumerate(text)}
