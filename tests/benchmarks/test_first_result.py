"""What is judged, in which order, and what its figures are made of."""

import json
from argparse import Namespace

import first_result
import measuring
import pytest

from bigcodeflow.core.errors import ConfigError

SIDES = ["fresh", "first", "original", "original fresh", "again", "unchecked"]
IDS = {"hard": ("T/1",), "full": ("T/1", "T/2")}


def units(*names, **more):
    given = {"only": names, "sides": SIDES, "environment": "bigcodebench", "workers": 2, "set": []} | more
    return first_result.plan(Namespace(**given), IDS)


def row(task_id, status="pass", wall=1.0, **more):
    return {"task_id": task_id, "status": status, "wall_seconds": wall} | more


def run(*rows, side="first", wall=10.0, cpu=8.0):
    found = {"answers": "qwen", "subset": "full", "side": side, "settings": [], "wall_seconds": wall}
    found |= {"cpu_seconds": cpu, "load_before": 0.1, "load_after": 0.1, "others_cpu_seconds": 0.0}
    return found | {"eta_within_factor": 0.66, "rows": list(rows)}


def test_the_original_is_measured_between_our_passes():
    """Only the first run executes the original's ground truths, and the original knows nothing of our settings."""
    found = units("hard", "qwen", set=["execution.limits.time_policy=scaled"])
    assert [unit.side for unit in found] == ["fresh", "original fresh", "first", "original", "again", "unchecked"]
    settings = {unit.side: unit.settings for unit in found}
    assert settings["original"] == settings["original fresh"] == ()
    assert settings["again"] == ("execution.limits.time_policy=scaled",)
    assert settings["unchecked"][-1] == "execution.integrity=off"
    assert [unit.side for unit in units("qwen", sides=["first"])] == ["first"]
    assert len({unit.key for unit in found}) == len(found)


def test_the_original_is_refused_in_another_environment():
    """It would be judged with other libraries than ours."""
    with pytest.raises(ConfigError, match="--sides"):
        units("hard", environment="starter")
    assert units("hard", environment="starter", sides=["fresh"])


def test_a_run_has_its_floor_the_originals_wall_and_the_cpu_of_no_test():
    """No number of cores makes a run shorter than its longest sample or its CPU time over the cores."""
    ours = run(row("T/1", test_cpu_seconds=1.0), row("T/2", "timeout", wall=8.0, test_cpu_seconds=5.0))
    theirs = run(row("T/1"), row("T/2"), side="original", wall=40.0)
    report = first_result.report_of([ours, theirs], cores=2)
    assert "| qwen, full, first | 2 | 1 | 10.0 | 8.0 | 4.00 | 8.0 (2) | 1.25 | 1000.0 | 66 | 0.10 | 0.10 |" in report
    assert "| qwen, full, original | 2 | 2 | 40.0 | 8.0 |  | 1.0 (1) | 10.00 |  |  | 0.10 | 0.10 |" in report
    assert "- T/2: pass, timeout" in report


def test_runs_of_two_folders_are_compared_verdict_by_verdict():
    """A pass that is lost counts separately from a failure of another kind."""
    rows = [row("T/1"), row("T/2", "fail")], [row("T/1", "timeout"), row("T/2", "timeout")]
    assert "2 of 2 verdicts differ, 1 of them" in first_result.compared(*([run(*own)] for own in rows))


def test_a_finished_measurement_is_not_made_again(tmp_path):
    """A run that was stopped goes on with what is missing."""
    [first, *_] = planned = units("gemma", "truths")
    (tmp_path / "runs.jsonl").write_text(json.dumps({"key": first.key, "rows": []}) + "\n")
    made = []
    runs = measuring.measured_once(tmp_path / "runs.jsonl", planned, lambda unit: made.append(unit.side) or {})
    assert made == ["original", "fresh"]
    assert [found["key"] for found in runs] == [unit.key for unit in planned]
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 3
