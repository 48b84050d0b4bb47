"""Execute one recorded sample again, in a sandbox and under the limits of its run; store no results."""

from collections.abc import Mapping
from contextlib import closing, suppress
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import ValidationError

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import ArtifactError, ConfigError, error_message
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.schemas import VERDICTS
from bigcodeflow.execution.executor import Executor, checked
from bigcodeflow.execution.planning import Planner
from bigcodeflow.execution.reruns import ONCE
from bigcodeflow.judge.backend_registry import execution_environment
from bigcodeflow.results.runs import RecordedRun


class Rerun(NamedTuple):
    """Recorded verdict of a sample, and the verdict of a new execution."""

    recorded: Mapping[str, Any]
    """A row of the run's verdicts table."""
    again: Mapping[str, Any]
    """Verdict of the new execution, without the columns that identify the sample."""

    @property
    def same(self) -> bool:
        """True if both verdicts have the same status."""
        return bool(self.recorded["status"] == self.again["status"])


def rerun_sample(
    run: RecordedRun,
    *,
    task_id: str,
    sample_index: int,
    variant: str,
    sanitizer: str,
    environment: str = "",
    allow_unisolated: bool = False,
) -> Rerun:
    """Execute one sample of a run again, in the run's sandbox environment or in another one if `environment` is set."""
    # The run's own limits; one sample does not justify warm processes, and the start does not change a verdict.
    own = _known(run.config.get("execution", {}))
    if run.imported:  # its environment and limits are unknown: use this project's defaults
        own["environment"] = "starter" if run.config["dataset"]["source"] == "starter" else "bigcodebench"
    own |= {"variants": [variant], "start": "cold", "workers": 1, "scheduler_address": ""}
    own |= {"allow_unisolated": allow_unisolated} | ({"environment": environment} if environment else {})
    try:
        config = ExecutionConfig.model_validate(own)
    except ValidationError as error:
        problem = f"this version cannot use the execution settings of the run ({error_message(error)})"
        raise ConfigError(f"run {run.record}: {problem}: start the whole run again") from None
    there = execution_environment(config)
    sample = {"task_id": task_id, "sample_index": sample_index, "sanitizer": sanitizer}
    recorded = _rows(run, "execution", sample | {"variant": variant})
    truths = VERDICTS.empty_table()
    if not run.imported:  # an imported run holds no time or memory of it
        with suppress(ArtifactError):
            truths = _rows(run, "ground_truth", {"task_id": task_id})
    solutions, tasks = _rows(run, "sanitizing", sample), _rows(run, "dataset", {"task_id": task_id})
    [planned] = Planner(tasks, truths, config=config, environment=there).samples(solutions)
    if planned.blocked_by:
        raise ConfigError(f"task {task_id}, sample {sample_index} is not run ({planned.blocked_by}): name another")
    executor = checked(Executor(config, there))
    with closing(executor.backend()) as backend:
        return Rerun(recorded.to_pylist()[0], executor.judge(backend, planned.item, ONCE))


def _known(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings without null values; in an imported run, null means that the value is unknown."""
    known = {name: value for name, value in settings.items() if value is not None}
    return {name: _known(value) if isinstance(value, Mapping) else value for name, value in known.items()}


def _rows(run: RecordedRun, artifact: str, wanted: Mapping[str, Any]) -> pa.Table:
    table = read_artifact(run.path(artifact), filters=[(column, "==", value) for column, value in wanted.items()])
    if not table.num_rows:
        row = ", ".join(f"{name} {value}" for name, value in wanted.items())
        raise ArtifactError(f"run {run.record}: its table {artifact} has no row with {row}: name another sample")
    return table
