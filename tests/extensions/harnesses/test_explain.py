"""The referee: the cause of each difference of two results, its evidence, and the right verdict where it is decided."""

import json
from pathlib import Path
from typing import Any

import pytest

import bigcodeflow as bcf
from bigcodeflow.core.settings import validated
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow_harnesses.explain import Explain, ExplainConfig
from bigcodeflow_harnesses.importing import import_results
from tests.conftest import ROOT

TASKS = {row["task_id"]: row for row in map(json.loads, (ROOT / "data/starter/tasks.jsonl").read_text().splitlines())}
IDS = [f"Starter/{number}" for number in range(10)]
ORACLE = {name: TASKS[name]["complete_prompt"] + TASKS[name]["canonical_solution"] for name in IDS}
MAIN = "\nif __name__ == '__main__':\n    raise ValueError\n"
COIN = "import os\nif os.urandom(1)[0] < 128:\n    raise ValueError('by chance')\n"
SEED = "if hash('x') % 2:\n    raise ValueError('an odd hash')\n"
ASKS = "\n_inner = task_func\ndef task_func(*values):\n    __import__('socket').gethostbyname('x.invalid')\n    return _inner(*values)\n"
#: What each task is for: its program here and there, and the verdict there.
PLANTED = {
    "extraction": (ORACLE[IDS[0]], "def task_func(*values): ...", "fail"),
    "noise": (COIN + ORACLE[IDS[1]], None, ""),
    "limit": ("import time\ntime.sleep(4)\n" + ORACLE[IDS[2]], None, "timeout"),
    "runner": (ORACLE[IDS[3]] + MAIN, None, "fail"),
    "runner, exit code": (ORACLE[IDS[4]] + "\nimport sys\nsys.exit(0)\n", None, "pass"),
    "calibration": (ORACLE[IDS[5]].partition("def ")[1] + ORACLE[IDS[5]].partition("def ")[2], None, "fail"),
    "unexplained": (ORACLE[IDS[6]], None, "fail"),
    "environment, network": (ORACLE[IDS[7]] + ASKS, None, "pass"),
    "noise, hash seeds": (SEED + ORACLE[IDS[8]], None, ""),
    "equal": (ORACLE[IDS[9]], None, "pass"),
}


def own_run(folder: Path, name: str, programs: dict[str, str], **options: Any) -> dict[str, str]:
    samples = folder / f"{name}.jsonl"
    samples.write_text("".join(json.dumps({"task_id": one, "solution": text}) + "\n" for one, text in programs.items()))
    given = {"name": name, "store": str(folder / "store"), "samples.source": str(samples), "sanitizing.mode": "none"}
    tasks = {"dataset.ids": ",".join(programs), "execution.integrity": "off"}
    found = bcf.run(bcf.load_config(options=given | tasks | options), progress=False).verdicts
    return dict(zip(found["task_id"], found["status"], strict=True))


def explained(folder: Path, first: str, second: str) -> dict[str, dict[str, Any]]:
    store = str(folder / "store")
    given = {"first": first, "second": second, "environment": "starter", "store": store}
    with progress_listener(quiet=True) as listener:
        ref = Explain().run(validated(ExplainConfig, given, "test"), listener)
    rows = open_store(store).read(ref)
    assert next(table.title for table in Explain().tables(rows)) == "Points of difference by cause"
    return {row["task_id"]: row for row in rows.to_pylist()}


def told_elsewhere(folder: Path, programs: dict[str, str], statuses: dict[str, str]) -> str:
    entries = {
        name: [{"solution": text, "base_status": statuses[name], "plus_status": None}]
        for name, text in programs.items()
    }
    path = folder / "nova_vllm_temp_0.0_eval_results.json"
    path.write_text(json.dumps({"date": "2026-01-05 12:00", "hash": "", "eval": entries}))
    settings = {"source": "starter", "ids": ",".join(programs), "split": "complete"}
    with progress_listener(quiet=True) as listener:
        return import_results(path, settings=settings, store=folder / "store", listener=listener).record + "@raw"


@pytest.mark.sandbox
def test_each_planted_difference_gets_its_cause(tmp_path: Path, starter_environment: InstalledEnvironment) -> None:
    """Nothing tells the other harness's limit and runner: they are tried, and what nothing explains is said so."""
    ours = own_run(tmp_path, "here", {name: one[0] for name, one in zip(IDS, PLANTED.values(), strict=True)})
    there = {name: one[1] or one[0] for name, one in zip(IDS, PLANTED.values(), strict=True)}
    opposite = {"pass": "fail", "fail": "pass"}
    statuses = {name: one[2] or opposite[ours[name]] for name, one in zip(IDS, PLANTED.values(), strict=True)}
    found = explained(tmp_path, "here", told_elsewhere(tmp_path, there, statuses))
    assert {name: found[name]["cause"] for name in found} == {
        name: cause.partition(",")[0] for name, cause in zip(IDS, PLANTED, strict=True) if cause != "equal"
    }
    assert "with another limit 3.0: timeout" in found[IDS[2]]["evidence"]
    assert (found[IDS[4]]["right"], found[IDS[3]]["right"]) == ("first", "")
    assert "passes a test that no program passes" in found[IDS[4]]["reason"]
    assert found[IDS[7]]["detail"] == "network"
    assert {row["share"] for row in found.values()} == {1.0, -1.0}


@pytest.mark.sandbox
def test_another_version_of_the_test(tmp_path: Path, starter_environment: InstalledEnvironment) -> None:
    """The reference solution, which fails with the wrong test, decides for the pass."""
    task = TASKS[IDS[0]]
    head = "class TestCases(unittest.TestCase):\n"
    test = task["test"].replace(
        head, f"{head}    def test_more(self):\n        self.assertEqual(task_func([1.0]), [7])\n\n"
    )
    assert test != task["test"]
    (tmp_path / "other.jsonl").write_text(json.dumps(task | {"test": test}) + "\n")
    own_run(tmp_path, "before", {IDS[0]: ORACLE[IDS[0]]})
    own_run(tmp_path, "after", {IDS[0]: ORACLE[IDS[0]]}, **{"dataset.source": str(tmp_path / "other.jsonl")})
    [row] = explained(tmp_path, "before", "after").values()
    assert (row["cause"], row["right"], row["n_tasks"]) == ("version", "first", 1)


@pytest.mark.sandbox
def test_another_extraction_from_the_same_answer(tmp_path: Path, starter_environment: InstalledEnvironment) -> None:
    """The detail names the modes that take the passing program out of the answer."""
    answer = {IDS[0]: f"Here:\n```python\n{ORACLE[IDS[0]]}\n```\n"}
    own_run(tmp_path, "here", answer, **{"sanitizing.mode": "fenced"})
    own_run(tmp_path, "there", answer)
    [row] = explained(tmp_path, "here", "there").values()
    assert (row["first_status"], row["cause"]) == ("pass", "extraction")
    assert row["detail"] == "none"
