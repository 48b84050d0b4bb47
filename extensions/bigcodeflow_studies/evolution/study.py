"""Label tasks under newer libraries, and execute the samples of recorded runs with these libraries."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from operator import itemgetter
from typing import Any, NamedTuple

from bigcodeflow import datasets
from bigcodeflow.config import RunConfig
from bigcodeflow.core.calibration import calibrate, executed_program
from bigcodeflow.core.errors import ArtifactError, ExecutionError
from bigcodeflow.generation.controls import oracle
from bigcodeflow.judge.environments import MANIFEST, InstalledEnvironment, find_environment
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import perform_up_to, planned_run
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.results.comparison.run_selection import ComparedRun, open_runs
from bigcodeflow.store import ArtifactRef, Store, artifact_key, open_store
from bigcodeflow.studies.derived_files import sample_file
from bigcodeflow.studies.records import grouped, publish_study, rows_on_tasks
from bigcodeflow_studies.evolution import Evolution, EvolutionConfig
from bigcodeflow_studies.evolution.causes import (
    PYTHON,
    Cause,
    Texts,
    causes_of,
    label_of,
    library_of_module,
    removals_of,
)

#: Raise it when unchanged verdicts give other rows.
VERSION = 2
STUDY = "evolution"
#: Folders that some distributions install next to their package.
_NO_LIBRARIES = frozenset({"tests", "test", "docs", "examples", "__pycache__"})
Row = dict[str, Any]
Verdict = Mapping[str, Any]


class Samples(NamedTuple):
    """Programs of a recorded run, exactly as the run executed them."""

    run: ComparedRun
    file: str
    """Sample file in the store with these programs."""
    programs: Mapping[str, Mapping[int, str]]
    """Programs by task id and the run's sample index, in the order of the file."""


class Both(NamedTuple):
    """Verdicts of the same samples in the older (``before``) and the newer environment (``now``)."""

    before: Mapping[str, Sequence[Verdict]]
    """Verdicts by task id, in the order of the samples."""
    now: Mapping[str, Sequence[Verdict]]
    refs: tuple[ArtifactRef, ...]


def run_study(config: EvolutionConfig, listener: Listener) -> ArtifactRef:
    """Run the study and return its result; reuse results and executions in the store.

    Raises:
        EnvironmentUnusableError: an environment is not built on this machine.
        ArtifactError: a run is not recorded, or answers none of the tasks.
    """
    environments = find_environment(config.environment), find_environment(config.current)
    store = open_store(config.store)
    compared = open_runs(config.store, config.runs, fewest=1) if config.runs else []
    references = config.in_both("oracle", reruns=config.reruns)
    view = references[0].dataset
    tasks: dict[str, Row] = {
        row["task_id"]: row for row in datasets.load_tasks(view, datasets.resolve(view)).to_pylist()
    }
    samples = [samples_of(run, tasks, store) for run in compared]
    pairs = [config.in_both(one.file, ids=",".join(one.programs), variant="raw") for one in samples]
    titles = [[one.run.label, one.run.recorded.record] for one in samples]
    identity = {"environment": config.environment, "current": config.current, "runs": titles}
    resolver = Resolver()
    planned = [planned_run(resolver(run))[0].execution.key for pair in (references, *pairs) for run in pair]
    key = artifact_key(STUDY, VERSION, identity, planned)
    if found := store.find(STUDY, key):
        return found
    versions = [library_versions(one) for one in environments]
    executions = [executed(pair, listener) for pair in (references, *pairs)]
    labelled = {row["task_id"]: row for row in _task_rows(config, tasks, executions[0], versions)}
    rows = [*labelled.values()]
    for one, verdicts in zip(samples, executions[1:], strict=True):
        rows += _run_rows(one, tasks, labelled, verdicts)
    models = list(dict.fromkeys(one.run.recorded.model for one in samples))
    inputs = [ref for both in executions for ref in both.refs]
    title = Evolution().subject(config)
    return publish_study(store, STUDY, key, rows, title=title, models=models, settings=identity, inputs=inputs)


def _task_rows(
    config: EvolutionConfig, tasks: Mapping[str, Row], both: Both, versions: Sequence[Mapping[str, str]]
) -> Iterator[Row]:
    for task_id, task in tasks.items():
        [before], [now] = both.before[task_id], both.now[task_id]
        texts = Texts(task["code_prompt"], calibrate(task["code_prompt"], oracle(task)), task["test"])
        label, cause = label_of(before, now, texts)
        found = cause or Cause("", "", "", "", "")
        older, newer = versions
        yield {
            "run": "",
            "record": "",
            "task_id": task_id,
            "environment": config.environment,
            "current": config.current,
            "label": label,
            **{name: getattr(found, name) for name in ("cause", "place", "library", "basis", "evidence")},
            "status_before": before["status"],
            "status_now": now["status"],
            "libraries": [
                {"library": name, "before": older.get(name, ""), "now": newer.get(name, "")}
                for name in (PYTHON, *texts.modules)
            ],
            "n_samples": 1,
            "n_passed_before": _passes([before]),
            "n_passed_now": _passes([now]),
            "outdated": [],
        }


def _run_rows(samples: Samples, tasks: Mapping[str, Row], labelled: Mapping[str, Row], both: Both) -> Iterator[Row]:
    for task_id, programs in samples.programs.items():
        before, now, task = both.before[task_id], both.now[task_id], tasks[task_id]
        yield labelled[task_id] | {
            "run": samples.run.label,
            "record": samples.run.recorded.record,
            "n_samples": len(programs),
            "n_passed_before": _passes(before),
            "n_passed_now": _passes(now),
            "outdated": [
                call
                for index, program, *pair in zip(programs, programs.values(), before, now, strict=True)
                for call in outdated_calls(index, pair, Texts(task["code_prompt"], program, task["test"]))
            ],
        }


def outdated_calls(index: int, pair: Sequence[Verdict], texts: Texts) -> Iterator[Row]:
    """Yield a row for each library name that a failing sample uses and that only the newer environment lacks."""
    before, now = pair
    if now["status"] == "pass":
        return
    earlier = causes_of(before, texts) if before["status"] != "pass" else []
    made_up = {one.removal.last_part for one in earlier if one.removal}
    for cause in removals_of(now, texts):
        if cause.removal and cause.removal.last_part not in made_up:
            yield {
                "name": cause.removal.name,
                "library": cause.library or library_of_module(cause.removal.owner),
                "kind": cause.removal.kind,
                "sample_index": index,
                "evidence": cause.evidence,
            }


def _passes(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict["status"] == "pass" for verdict in verdicts)


def samples_of(run: ComparedRun, tasks: Mapping[str, Row], store: Store) -> Samples:
    """Write a sample file with a recorded run's programs, for each task whose test is the same as in the run.

    Raises:
        ArtifactError: the run answered none of the tasks, or its solutions are not in the store.
    """
    tests = {task_id: task["test"] for task_id, task in tasks.items()}
    programs: dict[str, dict[int, str]] = defaultdict(dict)
    columns = ["task_id", "sample_index", "sanitizer", "solution"]
    for row in rows_on_tasks(run.recorded, tests, "sanitizing", columns):
        if row["sanitizer"] == run.sanitizer:
            setup, solution = tasks[row["task_id"]]["code_prompt"], row["solution"]
            program = executed_program(code_prompt=setup, solution=solution, variant=run.variant)
            programs[row["task_id"]][row["sample_index"]] = program
    if not programs:
        raise ArtifactError(
            f"run {run.recorded.record}: answers none of the selected tasks, or their tests in the run differ: choose "
            "the dataset of the run (--dataset), or other tasks (--ids)"
        )
    ordered = {task_id: dict(sorted(programs[task_id].items())) for task_id in tasks if task_id in programs}
    listed = ((task_id, program) for task_id, mine in ordered.items() for program in mine.values())
    return Samples(run, sample_file(store, "evolution", listed), ordered)


def executed(runs: Sequence[RunConfig], listener: Listener) -> Both:
    """Execute two runs, in the older and the newer environment, and return their verdicts; reuse known verdicts.

    Raises:
        ExecutionError: an execution failed for a reason that may be temporary.
    """
    found, refs = [], []
    for run in runs:
        refs.append(perform_up_to("execution", run, listener)["execution"])
        rows = sorted(open_store(run.store).read(refs[-1]).to_pylist(), key=itemgetter("sample_index"))
        for row in rows:
            _refuse_unjudged(row, run)
        found.append(grouped(rows, itemgetter("task_id")))
    return Both(found[0], found[1], tuple(refs))


def _refuse_unjudged(row: Verdict, run: RunConfig) -> None:
    # A library that the environment lacks is an infrastructure error too, but with a traceback.
    traces = [row["module_trace"], *(test["trace"] for test in row["tests"])]
    if row["status"] == "infra_error" and not any("Traceback" in trace for trace in traces):
        raise ExecutionError(
            f"{row['task_id']}: a sample could not be executed in environment {run.execution.environment} "
            f"({row['module_trace'] or row['exit']}): run the same command again; finished executions are kept"
        )


def library_versions(environment: InstalledEnvironment) -> Mapping[str, str]:
    """Return the version of each library of a built environment, by import name; 'python' is the interpreter."""
    manifest = json.loads((environment.root / MANIFEST).read_text(encoding="utf-8"))
    found = {PYTHON: str(manifest["python"])}
    folders = [str(path) for path in environment.root.glob("venv/lib/python3.*/site-packages")]
    for one in metadata.distributions(path=folders):
        for file in one.files or ():  # the top-level packages and modules among a distribution's files
            name = file.parts[0].partition(".")[0]
            is_module = name == file.parts[0] or file.parts[0].endswith((".py", ".so"))
            if is_module and name.isidentifier() and name not in _NO_LIBRARIES:
                found.setdefault(name, one.version)
    return found
