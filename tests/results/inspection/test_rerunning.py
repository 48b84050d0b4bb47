"""What keeps a sample from being executed again is said in one line."""

import json

import pytest

from bigcodeflow.core.errors import ArtifactError, ConfigError, EnvironmentUnusableError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.pipeline.rerun import rerun_sample
from bigcodeflow.results.runs import find_run

PLACE = {"task_id": "Demo/1", "sample_index": 0, "variant": "calibrated", "sanitizer": "parity"}


def configured(run, **execution):
    """The run with other execution settings."""
    path = run.store.root / "runs" / f"{run.record}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"config": {"execution": execution}}))
    return find_run(run.store.root, run.record)


def test_settings_that_no_longer_exist(record, failures):
    """A record of another version may name what this one does not know."""
    run = configured(record(failures), backend="abacus")
    with pytest.raises(ConfigError, match="its execution settings cannot be used any more") as caught:
        rerun_sample(run, **PLACE)
    assert "\n" not in str(caught.value)


def test_an_environment_that_is_not_there(record, failures):
    """The remedy is another environment, by name."""
    with pytest.raises(EnvironmentUnusableError, match="nowhere"):
        rerun_sample(record(failures), **PLACE, environment="nowhere")


def test_a_program_that_is_gone(record, failures, starter_environment: InstalledEnvironment):
    """Without the solutions there is nothing to execute."""
    with pytest.raises(ArtifactError, match="its sanitizing artifact is not in"):
        rerun_sample(record(failures, without=("sanitizing",)), **PLACE)


def test_a_sample_that_the_safety_policy_blocks(record, failures, starter_environment: InstalledEnvironment):
    """Looking again is no way around the policy of the run."""
    failures.rows["solutions"][0] |= {
        "blocked": True,
        "findings": [{"rule": "process", "line": 1, "detail": "os.system"}],
    }
    with pytest.raises(ConfigError, match=r"blocked by the safety policy: process in line 1: os\.system; it is not"):
        rerun_sample(record(failures), **PLACE)
