"""What is judged, in which order, and what its figures are made of."""

import json
from argparse import Namespace

import measuring
import pytest
import recorded_runs

from bigcodeflow.core.errors import ConfigError


def arguments(**more):
    defaults = {"only": ["qwen", "loops"], "original": True, "again": True, "unchecked": False}
    defaults["environment"] = "bigcodebench"
    return Namespace(
        **defaults | {"workers": 2, "time_seconds": 240.0, "loops": 2, "set": [], "time_policy": ""} | more
    )


def row(task_id, status="pass", wall=1.0, cpu=0.5, **more):
    return {"task_id": task_id, "status": status, "wall_seconds": wall, "cpu_seconds": cpu} | more


def run(*rows, side="again", wall=10.0, cpu=8.0):
    found = {"answers": "loops", "side": side, "settings": [], "wall_seconds": wall, "cpu_seconds": cpu}
    return found | {"cpu_source": "control group", "load_before": 0.1, "rows": list(rows)}


def test_the_original_is_measured_between_our_two_passes():
    """What else the machine does falls on both sides; the original knows nothing of our settings."""
    units = recorded_runs.plan(arguments(time_policy="scaled"), ["T/1"])
    assert [(unit.answers, unit.side) for unit in units] == [
        (answers, side) for answers in ("qwen", "loops") for side in ("first", "original", "again")
    ]
    settings = {unit.side: unit.settings for unit in units}
    assert settings["original"] == ()
    assert settings["again"] == ("execution.limits.time_policy=scaled",)
    sides = [unit.side for unit in recorded_runs.plan(arguments(only=["qwen"], again=False), ["T/1"])]
    assert sides == ["first", "original"]
    assert len({unit.key for unit in units}) == len(units)


def test_the_original_is_refused_in_another_environment():
    """It would be judged with other libraries than ours."""
    with pytest.raises(ConfigError, match="--no-original"):
        recorded_runs.plan(arguments(environment="starter"), ["T/1"])
    assert recorded_runs.plan(arguments(environment="starter", original=False), ["T/1"])


def test_cpu_is_told_by_status_and_what_is_no_samples_own():
    """The parts add up to the run's CPU; what lies beyond the tests is told where rows tell it."""
    found = recorded_runs.figures_of(
        run(row("a", test_cpu_seconds=0.4), row("b", test_cpu_seconds=0.5), row("c", "timeout", wall=8.0, cpu=4.0)),
        cores=2,
    )
    assert found["statuses"]["pass"] == {
        "samples": 2,
        "wall_seconds": 2.0,
        "cpu_seconds": 1.0,
        "cpu_beyond_tests_seconds": pytest.approx(0.1),
    }
    assert "cpu_beyond_tests_seconds" not in found["statuses"]["timeout"]
    assert found["cpu_outside_seconds"] == 8.0 - 5.0
    assert (found["floor_seconds"], found["wall_over_floor"]) == (8.0, 1.25)


def test_the_report_judges_only_our_run_with_loops():
    """The goal is ours; the original's figure stands beside it."""
    theirs, ours = run(row("a"), side="original", wall=40.0), run(row("a", "timeout", wall=9.0))
    report = recorded_runs.report_of([theirs, ours], cores=2)
    assert "| loops, again | 10.0 | 9.0 | 9.0 | 1.11 | at most 1.2 | yes |" in report
    assert "| loops, original | 40.0 | 1.0 | 4.0 | 10.00 |  |  |" in report
    assert "- a: pass, timeout" in report


def test_a_finished_measurement_is_not_made_again(tmp_path):
    """A run that was stopped goes on with what is missing."""
    [first, *_] = units = recorded_runs.plan(arguments(only=["qwen"]), ["T/1"])
    (tmp_path / "runs.jsonl").write_text(json.dumps({"key": first.key, "rows": []}) + "\n")
    made = []
    runs = measuring.measured_once(tmp_path / "runs.jsonl", units, lambda unit: made.append(unit.side) or {})
    assert made == ["original", "again"]
    assert [found["key"] for found in runs] == [unit.key for unit in units]
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 3
