"""Comparing warm and cold starts: equal verdicts are silent, a dependence on the start is distinguished from chance."""

import json
from pathlib import Path

import pytest

from bigcodeflow.config import load_settings
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.pipeline import warm_cold_check
from bigcodeflow.pipeline.warm_cold_check import compare_starts
from tests.doubles.listeners import RecordingListener

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]

#: Process 1 of a cold sandbox is bubblewrap, that of a warm one is not: a difference that an honest sample never asks for.
_ONLY_COLD = "if 'bwrap' not in open('/proc/1/comm').read():\n    raise RuntimeError('warm')\n"


def _config(folder: Path, ids: str, samples: str, mode: str = "none") -> object:
    given = {
        "store": str(folder / "store"),
        "dataset": {"source": "starter", "ids": ids},
        "samples": {"source": samples},
        "sanitizing": {"mode": mode},
        "execution": {"environment": "starter", "workers": 2},
    }
    return load_settings(given, "test")


@pytest.mark.slow
def test_honest_samples_have_the_same_verdicts(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """Ground truths started warm and cold do not differ."""
    comparison = compare_starts(_config(tmp_path, "0-7", "oracle"), RecordingListener())
    assert comparison.samples == 8
    assert comparison.differences == []


@pytest.mark.slow
def test_a_dependence_on_the_start_is_found(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """A sample that passes only after a cold start is named as such; its neighbours are not."""
    config = _config(tmp_path, "0-3", "oracle")
    tasks = load_tasks(config.dataset, resolve(config.dataset)).to_pylist()
    lines = []
    for number, task in enumerate(tasks):
        solution = (_ONLY_COLD if number == 0 else "") + task["complete_prompt"] + task["canonical_solution"]
        lines.append(json.dumps({"task_id": task["task_id"], "solution": solution}))
    file = tmp_path / "samples.jsonl"
    file.write_text("\n".join(lines) + "\n")
    comparison = compare_starts(_config(tmp_path, "0-3", str(file)), RecordingListener(), again=1)
    (found,) = comparison.differences
    assert (found.sample[0], found.warm, found.cold) == (tasks[0]["task_id"], ("fail", "fail"), ("pass", "pass"))
    assert found.tests
    assert not found.flaky


@pytest.mark.parametrize(
    ("warm", "cold", "flaky"),
    [
        (["pass", "pass"], ["fail", "fail"], False),
        (["pass", "fail"], ["fail", "fail"], True),
        (["pass", "pass"], ["fail", "pass"], True),
    ],
)
def test_executions_that_disagree_among_themselves_are_flaky(warm: list[str], cold: list[str], *, flaky: bool) -> None:
    """The start is blamed only where each way of starting always gives the same."""
    owner = ("Task/0", 0, "calibrated")
    runs = {
        start: [{owner: (status, (("test_a", status),))} for status in statuses]
        for start, statuses in (("warm", warm), ("cold", cold))
    }
    found = warm_cold_check._difference(owner, runs)
    assert found.flaky is flaky
    assert found.tests == ("test_a",)
