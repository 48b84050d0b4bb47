"""Label tasks under newer libraries, and execute the samples of recorded runs there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bigcodeflow import datasets
from bigcodeflow.core.calibration import calibrate
from bigcodeflow.environments import find_environment
from bigcodeflow.generation.controls import oracle
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.store import ArtifactRef, artifact_key, open_store
from bigcodeflow.studies.evolution import EvolutionConfig
from bigcodeflow.studies.evolution.causes import PYTHON, Texts, causes_of, label_of, library_of_module, removals_of
from bigcodeflow.studies.evolution.executions import (
    Both,
    Row,
    Samples,
    Verdict,
    executed,
    execution_keys,
    runs_of,
    samples_of,
)
from bigcodeflow.studies.evolution.libraries import library_versions
from bigcodeflow.studies.records import publish_study

#: Raise it when unchanged verdicts give other rows.
VERSION = 2
STUDY = "evolution"


class Versions(NamedTuple):
    """Versions of libraries by import name, in both environments."""

    before: Mapping[str, str]
    now: Mapping[str, str]


def run_study(config: EvolutionConfig, listener: Listener) -> ArtifactRef:
    """Run the study and return its result; reuse results and executions in the store.

    Raises:
        EnvironmentUnusableError: an environment is not built here.
        ArtifactError: a run is not recorded, or answers none of the tasks.
    """
    before, now = find_environment(config.environment), find_environment(config.current)
    store = open_store(config.store)
    compared = open_runs(config.store, config.runs, fewest=1) if config.runs else []
    view = config.run(config.environment, "oracle").dataset
    tasks: dict[str, Row] = {
        row["task_id"]: row for row in datasets.load_tasks(view, datasets.resolve(view)).to_pylist()
    }
    samples = [None, *(samples_of(run, tasks, store) for run in compared)]
    pairs = [runs_of(config, one) for one in samples]
    names = {"environment": config.environment, "current": config.current}
    titles = [[one.title, one.record] for one in samples if one]
    identity = {**names, "runs": titles}
    key = artifact_key(STUDY, VERSION, identity, [key for pair in pairs for key in execution_keys(pair)])
    if found := store.find(STUDY, key):
        return found
    versions = Versions(library_versions(before), library_versions(now))
    executions = [executed(pair, listener) for pair in pairs]
    labelled = {row["task_id"]: row for row in _task_rows(config, tasks, executions[0], versions)}
    rows = [*labelled.values()]
    for one, verdicts in zip(samples[1:], executions[1:], strict=True):
        rows += _run_rows(one, tasks, labelled, verdicts) if one else []
    models = list(dict.fromkeys(one.model for one in samples if one))
    inputs = [ref for both in executions for ref in both.refs]
    return publish_study(
        store, STUDY, key, rows, title=study_title(config), models=models, settings=identity, inputs=inputs
    )


def study_title(config: EvolutionConfig) -> str:
    """Return the title of the result."""
    tasks = f"{config.dataset}, tasks {config.ids}" if config.ids else config.dataset
    return f"{tasks}: {config.environment} → {config.current}"


def _task_rows(config: EvolutionConfig, tasks: Mapping[str, Row], both: Both, versions: Versions) -> Iterator[Row]:
    for task_id, task in tasks.items():
        [before], [now] = both.before[task_id], both.now[task_id]
        texts = Texts(task["code_prompt"], calibrate(task["code_prompt"], oracle(task)), task["test"])
        label, cause = label_of(before, now, texts)
        yield {
            "run": "",
            "record": "",
            "task_id": task_id,
            "environment": config.environment,
            "current": config.current,
            "label": label,
            "cause": cause.cause if cause else "",
            "place": cause.place if cause else "",
            "library": cause.library if cause else "",
            "basis": cause.basis if cause else "",
            "evidence": cause.evidence if cause else "",
            "status_before": before["status"],
            "status_now": now["status"],
            "libraries": _versions_of(texts, versions),
            "n_samples": 1,
            "n_passed_before": int(before["status"] == "pass"),
            "n_passed_now": int(now["status"] == "pass"),
            "outdated": [],
        }


def _versions_of(texts: Texts, versions: Versions) -> list[dict[str, str]]:
    return [
        {"library": name, "before": versions.before.get(name, ""), "now": versions.now.get(name, "")}
        for name in (PYTHON, *texts.modules)
    ]


def _run_rows(samples: Samples, tasks: Mapping[str, Row], labelled: Mapping[str, Row], both: Both) -> Iterator[Row]:
    for task_id, programs in samples.programs.items():
        before, now, task = both.before[task_id], both.now[task_id], tasks[task_id]
        outdated = [
            call
            for index, program, *pair in zip(programs, programs.values(), before, now, strict=True)
            for call in outdated_calls(index, pair, Texts(task["code_prompt"], program, task["test"]))
        ]
        yield labelled[task_id] | {
            "run": samples.title,
            "record": samples.record,
            "n_samples": len(programs),
            "n_passed_before": _passes(before),
            "n_passed_now": _passes(now),
            "outdated": outdated,
        }


def outdated_calls(index: int, pair: Sequence[Verdict], texts: Texts) -> Iterator[Row]:
    """Yield the names that a failing sample misses in the newer libraries only; others were made up by its model."""
    before, now = pair
    if now["status"] == "pass":
        return
    earlier = causes_of(before, texts) if before["status"] != "pass" else []
    made_up = {_last_part(one.removal.name) for one in earlier if one.removal}
    for cause in removals_of(now, texts):
        if cause.removal and _last_part(cause.removal.name) not in made_up:
            yield {
                "name": cause.removal.name,
                "library": cause.library or library_of_module(cause.removal.owner),
                "kind": cause.removal.kind,
                "sample_index": index,
                "evidence": cause.evidence,
            }


def _last_part(name: str) -> str:
    """Return the name without its owner, which may be named differently in older libraries: p of TtestResult.p."""
    return name.rpartition(".")[2]


def _passes(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict["status"] == "pass" for verdict in verdicts)
