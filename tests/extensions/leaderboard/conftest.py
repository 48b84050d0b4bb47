"""A real store with runs over the 148 tasks of BigCodeBench-Hard, and a hub that takes commits."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from bigcodeflow.config import RunConfig
from bigcodeflow.store import open_store
from bigcodeflow_leaderboard.entries import LeaderboardEntry
from bigcodeflow_leaderboard.measured_entries import Allowance
from tests.conftest import ROOT
from tests.extensions.leaderboard.hub import WritableHub
from tests.report import conftest as report_pages
from tests.results.conftest import Tables, publish_run

read = report_pages.read  # a fixture

HARD = json.loads((ROOT / "data" / "bigcodebench" / "hard_task_ids.json").read_text())
FIRST_RUN = datetime(2026, 11, 1, 12, tzinfo=UTC)
HUB_TASKS = {"content": {"hub": "bigcode/bigcodebench-hard", "version": "v0.1.4", "commit": "c" * 40}}

#: The made-up tasks carry test texts of their own, which every run of the lab must be allowed.
ALLOW = (Allowance.tests,)


class Lab:
    """Records runs as the pipeline does: artifacts, metrics by the real aggregation, and a run record."""

    def __init__(self, folder):
        self.folder = folder
        self.store = open_store(folder / "store")
        self._runs = 0

    def run(
        self, model="acme--nova-7b--main", *, passing=100, failing=(), samples=1, tasks=HARD, broken=0, variants=("calibrated",),
        k=(1,), unjudged=0, excluded=(), flagged=(), tests=None, config=None, split="complete", subset="hard", source="model", environment="e" * 64, scored=True,
    ):  # fmt: skip
        """Record a run in which the first so many tasks pass, and return its record's name.

        Args:
            failing: numbers of tasks that fail although they are among the passing ones.
            broken: so many ground truths fail.
            excluded: ids of tasks in quarantine that the scores leave out.
            flagged: ids of tasks in quarantine that count.
            tests: test texts by task id, such as the real ones.
            unjudged: so many samples, counted from the end, are infrastructure errors.
        """
        self._runs += 1
        tables = Tables(self.folder / f"tables {self._runs}")
        for number, task_id in enumerate(tasks):
            tables.task(task_id, ground_truth="fail" if number < broken else "pass")
            for index in range(samples):
                good = number < passing and number not in failing
                status = "infra_error" if number >= len(tasks) - unjudged else "pass" if good else "fail"
                tables.sample(task_id, status, index=index, variants=variants)
        for row in tables.rows["tasks"]:
            row["test"] = (tests or {}).get(row["task_id"], "")
        for row in (*tables.rows["verdicts"], *tables.rows["ground_truth"]):
            row["environment_sha"] = environment
        quarantine = {"quarantined": excluded or flagged, "exclude_quarantined": bool(excluded)}
        metrics = tables.metrics(k, split=split, subset=subset, **quarantine) if scored else None
        started = FIRST_RUN + timedelta(days=self._runs)
        record = f"{started:%Y%m%dT%H%M%S.%f}-run{self._runs}"
        times = {"started_at": started.isoformat(), "finished_at": (started + timedelta(minutes=5)).isoformat()}
        content = {"run": f"run{self._runs}", "model": model, "config": _config(source, split, subset, config or {})}
        publish_run(self.store, tables, record, metrics=metrics, settings=HUB_TASKS, **times, **content)
        return record


def _config(source, split, subset, changes):
    given = {
        "dataset": {"source": "bigcode/bigcodebench@v0.1.4", "split": split, "subset": subset},
        "samples": {"source": source},
        "generation": {"model": "openai:nova-7b"},
        "execution": {"environment": "bigcodebench"},
    }
    for section, values in changes.items():
        given[section] = given.get(section, {}) | values
    return RunConfig.model_validate(given).model_dump(mode="json")


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


@pytest.fixture
def entry():
    """A sound entry of ours, with whatever the test changes."""

    def make(**changes):
        facts = {
            "origin": "ours", "model": "acme/nova-7b", "setting": "openai, temperature 0",
            "setting_key": "0" * 12, "split": "complete", "subset": "full", "pass_at_1": 0.5, "ci_low": 0.47,
            "ci_high": 0.53, "n_tasks": 1140, "n_samples": 1140, "ground_truth_rate": 0.995, "sanitizer": "parity",
            "environment": "bigcodebench", "environment_sha": "e" * 64, "evaluated_at": FIRST_RUN,
            "source": "bigcodeflow 0.1.0", "run": {
                "record": "r1", "dataset": "bigcode/bigcodebench@v0.1.4", "dataset_revision": "c" * 40, "artifacts": {},
            },
        }  # fmt: skip
        return LeaderboardEntry.model_validate(facts | changes)

    return make


@pytest.fixture
def published():
    """A published entry."""

    def make(model, score, **changes):
        facts = {"origin": "published", "model": model, "split": "complete", "subset": "full", "pass_at_1": score}
        return LeaderboardEntry.model_validate(facts | {"n_tasks": 1140, "source": "a table"} | changes)

    return make


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A running hub that HF_ENDPOINT names, a token for it, and repositories of a dataset and of a model."""
    with WritableHub() as double:
        monkeypatch.setenv("HF_ENDPOINT", double.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        monkeypatch.setenv("HF_TOKEN", double.token)
        for name in ("HF_HUB_OFFLINE", "HF_OIDC_RESOURCE"):
            monkeypatch.delenv(name, raising=False)
        double.commit("acme/board", {".gitattributes": b"* text\n", "notes.txt": b"ours to keep\n"})
        double.commit("acme/nova-7b", {"README.md": b"A model.\n"})
        yield double
