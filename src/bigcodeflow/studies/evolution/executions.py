"""Execute reference solutions and recorded samples as ordinary runs in both environments."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from bigcodeflow.config import RunConfig
from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.errors import ArtifactError, ExecutionError
from bigcodeflow.pipeline.planning import planned_run
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.results.comparison.run_selection import ComparedRun
from bigcodeflow.store import ArtifactRef, Store, open_store
from bigcodeflow.studies.derived_files import sample_file
from bigcodeflow.studies.evolution import EvolutionConfig

Row = dict[str, Any]
Verdict = Mapping[str, Any]


class Samples(NamedTuple):
    """Programs of one recorded run, as that run executed them."""

    title: str
    record: str
    model: str
    file: str
    """Sample file in the store with these programs."""
    programs: Mapping[str, Mapping[int, str]]
    """Programs by task id and the run's sample index, in the order of the file."""


class Both(NamedTuple):
    """Verdicts of the same samples in both environments."""

    before: Mapping[str, Sequence[Verdict]]
    """Verdicts by task id, in the order of the samples."""
    now: Mapping[str, Sequence[Verdict]]
    refs: tuple[ArtifactRef, ...]


def samples_of(run: ComparedRun, tasks: Mapping[str, Row], store: Store) -> Samples:
    """Write a sample file with a recorded run's programs for the tasks that it answered with the same test.

    Raises:
        ArtifactError: the run answered none of the tasks, or its solutions are not in the store.
    """
    asked = {row["task_id"]: row["test"] for row in _rows(run.recorded.path("dataset"), ["task_id", "test"])}
    programs: dict[str, dict[int, str]] = defaultdict(dict)
    for row in _rows(run.recorded.path("sanitizing"), ["task_id", "sample_index", "sanitizer", "solution"]):
        task = tasks.get(row["task_id"])
        if task is None or row["sanitizer"] != run.sanitizer or asked.get(row["task_id"]) != task["test"]:
            continue
        solution = row["solution"]
        program = executed_program(code_prompt=task["code_prompt"], solution=solution, variant=run.variant)
        programs[row["task_id"]][row["sample_index"]] = program
    if not programs:
        raise ArtifactError(
            f"run {run.recorded.record}: answers none of the selected tasks as they are in this dataset: choose the "
            "dataset that it answers (--dataset), or other tasks (--ids)"
        )
    ordered = {task_id: dict(sorted(programs[task_id].items())) for task_id in tasks if task_id in programs}
    listed = ((task_id, program) for task_id, mine in ordered.items() for program in mine.values())
    file = sample_file(store, "evolution", listed)
    return Samples(run.label, run.recorded.record, run.recorded.model, file, ordered)


def runs_of(config: EvolutionConfig, samples: Samples | None) -> tuple[RunConfig, RunConfig]:
    """Return the runs of samples in the older and in the newer environment; None takes the reference solutions."""
    places = config.environment, config.current
    if samples is None:
        before, now = (config.run(name, "oracle", reruns=config.reruns) for name in places)
        return before, now
    ids = ",".join(samples.programs)
    before, now = (config.run(name, samples.file, ids=ids, variant="raw") for name in places)
    return before, now


def execution_keys(runs: Sequence[RunConfig]) -> list[str]:
    """Return the keys of the artifacts that the runs have or will have, without executing anything."""
    resolver = Resolver()
    return [planned_run(resolver(run))[0].execution.key for run in runs]


def executed(runs: tuple[RunConfig, RunConfig], listener: Listener) -> Both:
    """Execute both runs and return their verdicts; reuse known verdicts.

    Raises:
        ExecutionError: an execution failed for a reason that may be temporary.
    """
    found, refs = [], []
    for run in runs:
        store = open_store(run.store)
        ref = perform_up_to("execution", run, listener)["execution"]
        by_task: dict[str, list[Verdict]] = defaultdict(list)
        for row in store.read(ref).to_pylist():
            _refuse_unjudged(row, run)
            by_task[row["task_id"]].append(row)
        found.append({name: sorted(rows, key=lambda row: row["sample_index"]) for name, rows in by_task.items()})
        refs.append(ref)
    return Both(found[0], found[1], tuple(refs))


def _refuse_unjudged(row: Verdict, run: RunConfig) -> None:
    # A library that the environment lacks is an infrastructure error too, but with a traceback.
    traces = [row["module_trace"], *(test["trace"] for test in row["tests"])]
    if row["status"] == "infra_error" and not any("Traceback" in trace for trace in traces):
        raise ExecutionError(
            f"{row['task_id']} in {run.execution.environment}: could not be executed "
            f"({row['module_trace'] or row['exit']}): run the same again; what was executed is kept"
        )


def _rows(path: Path, columns: list[str]) -> Iterator[Row]:
    with pq.ParquetFile(path) as file:
        yield from file.read(columns).to_pylist()
