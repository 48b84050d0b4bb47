"""Run an audit: execute reference solutions, mutants and recordings as ordinary runs; make findings from verdicts."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bigcodeflow.config import RunConfig
from bigcodeflow.generation.controls import oracle
from bigcodeflow.judge import environments
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, artifact_key, open_store
from bigcodeflow.studies.derived_files import sample_file
from bigcodeflow.studies.records import publish_study
from bigcodeflow_studies.audit import VERSION, AuditConfig
from bigcodeflow_studies.audit.findings import (
    COUNTED,
    MUTATION,
    TOO_WEAK,
    UNDECIDED,
    Finding,
    contradiction_findings,
    dispute_findings,
    errata_findings,
    execution_findings,
    named_runs,
)
from bigcodeflow_studies.audit.mutation import NONE, Mutant, Mutants, mutants_of
from bigcodeflow_studies.audit.recording import (
    NOT_CALLED,
    NOT_EXECUTED,
    RESULT_DIFFERS,
    Effect,
    Recording,
    draws,
    effect_of,
    recorded_program,
    recordings,
)

Task = Mapping[str, Any]
#: A mutant may loop forever: it is stopped early and counts as noticed.
_FAST = ("execution.limits.time_policy=scaled", "execution.fail_fast=true")
#: Effects that show that a test is too weak; any other survivor may be equivalent.
_EVIDENT = frozenset({RESULT_DIFFERS, NOT_EXECUTED, NOT_CALLED})
#: Mutant and the status of its verdict.
Outcome = tuple[Mutant, str]


def _run_settings(config: AuditConfig, samples: str = "oracle", extra: Sequence[str] = ()) -> RunConfig:
    """Return the settings of a run that executes ``samples``, a control or a sample file; ``extra`` are overrides."""
    source = config.dataset or ("starter" if config.environment == "starter" else "bigcode/bigcodebench")
    sections: dict[str, Any] = {
        "name": "audit",
        "dataset": {"source": source, "subset": config.subset, "ids": config.ids},
        "samples": {"source": samples},
        "sanitizing": {"mode": "none", "safety_policy": "off"},
        "execution": {"integrity": "off"},
    }
    return config.run_config("audit", sections, extra)


def run_study(config: AuditConfig, listener: Listener) -> ArtifactRef:
    """Audit the tasks and publish the findings; reuse earlier executions."""
    environments.find_environment(config.environment)  # fail before the dataset is loaded
    return _Audit(config, listener).publish()


class _Audit:
    def __init__(self, config: AuditConfig, listener: Listener) -> None:
        self._config, self._listener, self._store = config, listener, open_store(config.store)
        self._settings = _run_settings(config)
        self._command = partial(config.command, self._settings.dataset.source)
        self._runs = named_runs(config.store, config.runs)  # fail before anything is executed
        self._inputs: list[ArtifactRef] = []
        refs = self._perform(self._settings, "ground_truth")
        self._dataset = refs["dataset"]
        self._task_table = self._store.read(self._dataset)
        self._tasks: Sequence[Task] = self._task_table.to_pylist()
        self._truths = self._store.read(refs["ground_truth"])

    def publish(self) -> ArtifactRef:
        command, run = self._command, Resolver()(self._settings)
        findings = [
            *self._mutation(),
            *execution_findings(self._tasks, self._truths, run, command),
            *dispute_findings(self._runs, self._tasks, command),
            *errata_findings(self._tasks),
        ]
        if self._config.contradictions:
            findings += contradiction_findings(self._task_table, self._truths, run, self._listener, command)
        order = {task["task_id"]: number for number, task in enumerate(self._tasks)}
        findings.sort(key=lambda one: (order[one.task_id], one.method, one.line or 0, one.before, one.after))
        rows = [one._asdict() for one in findings]
        settings = {"seed": self._config.seed, "mutants": self._config.mutants, "dataset": self._dataset.key}
        content = json.dumps(rows, sort_keys=True, default=str)
        settings |= {"rows": hashlib.sha256(content.encode()).hexdigest()}
        key = artifact_key("audit", VERSION, settings, [ref.key for ref in self._inputs])
        # The title must not show folders of this machine.
        source = Path(self._settings.dataset.source).name
        title = f"{len(self._tasks):,} tasks of {source}, {self._config.environment}"
        return publish_study(self._store, "audit", key, rows, title=title, settings=settings, inputs=self._inputs)

    def _perform(self, settings: RunConfig, target: str = "execution") -> dict[str, ArtifactRef]:
        refs = perform_up_to(target, settings, self._listener)
        self._inputs += [refs[name] for name in ("ground_truth", "execution") if name in refs]
        return refs

    def _execute(
        self, name: str, programs: Mapping[str, Sequence[str]], extra: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Execute each task's programs and return the verdicts; ``programs`` must have a program for each task."""
        pairs = ((task_id, program) for task_id, of_task in programs.items() for program in of_task)
        settings = _run_settings(self._config, sample_file(self._store, name, pairs), extra)
        columns = ["task_id", "sample_index", "status", "stdout"]
        return self._store.read(self._perform(settings)["execution"], columns).to_pylist()

    def _mutation(self) -> Iterator[Finding]:
        """Execute the mutants of each task whose reference solution passes, and yield the findings about them."""
        truths = self._truths.select(["task_id", "status"]).to_pylist()
        passing = {row["task_id"] for row in truths if row["status"] == "pass"}
        own = {task["task_id"]: oracle(task) for task in self._tasks}
        made = {task["task_id"]: self._mutants(task) for task in self._tasks if task["task_id"] in passing}
        programs = {name: [text, *(one.program for one in made.get(name, NONE).chosen)] for name, text in own.items()}
        rows = self._execute("mutants", programs, _FAST)
        statuses = {(row["task_id"], row["sample_index"]): row["status"] for row in rows}
        outcomes = {
            name: [
                # Nothing is known of mutants if the reference failed in the same run.
                (one, statuses[name, number] if statuses[name, 0] == "pass" else "infra_error")
                for number, one in enumerate(mutants.chosen, start=1)
            ]
            for name, mutants in made.items()
        }
        recorded = self._recorded({name: survivors_of(pairs) for name, pairs in outcomes.items()})
        for name, mutants in made.items():
            yield from mutation_findings(name, mutants, outcomes[name], recorded.get(name, ()), self._command(name))

    def _mutants(self, task: Task) -> Mutants:
        first, most, seed = task["complete_prompt"].count("\n") + 1, self._config.mutants, self._config.seed
        return mutants_of(oracle(task), first, task["entry_point"], most=most, seed=seed)

    def _recorded(self, survivors: Mapping[str, Sequence[Mutant]]) -> dict[str, list[Recording | None]]:
        """Return, by task id, two recordings of the reference, then a recording per survivor; None for a failure."""
        programs = {}
        for task in self._tasks:
            own, name, mutants = oracle(task), task["entry_point"], survivors.get(task["task_id"], ())
            texts = [recorded_program(own, name, trace=True), recorded_program(own, name, number=1)]
            texts += [recorded_program(one.program, name) for one in mutants]
            programs[task["task_id"]] = texts if mutants else [own]
        found = recordings(self._execute("recorded", programs))
        return {
            task_id: [found.get((task_id, number)) for number in range(len(mutants) + 2)]
            for task_id, mutants in survivors.items()
            if mutants
        }


def survivors_of(outcomes: Sequence[Outcome]) -> list[Mutant]:
    """Return the mutants that pass the test, except mutants of code that tests need not observe."""
    return [one for one, status in outcomes if status == "pass" and not one.apart]


def mutation_findings(
    task_id: str, mutants: Mutants, outcomes: Sequence[Outcome], recorded: Sequence[Recording | None], command: str
) -> Iterator[Finding]:
    """Yield the mutant counts, then a finding per survivor; a statement that never runs has a single finding.

    ``recorded`` holds two recordings of the reference, whose ground truth passes, then a recording of each survivor.
    """
    statuses = [status for one, status in outcomes if not one.apart]
    survived, unjudged = statuses.count("pass"), statuses.count("infra_error")
    total = len(statuses) - unjudged
    yield Finding(
        task_id,
        MUTATION,
        COUNTED,
        f"the test notices {total - survived} of {total} mutants" if total else "no mutant could be judged",
        command=command,
        killed=total - survived,
        survived=survived,
        apart=len(outcomes) - len(statuses),
        equivalent=mutants.equivalent,
        unjudged=unjudged,
        possible=mutants.possible,
    )
    seen: set[tuple[str, int]] = set()
    for mutant, effect in _effects(survivors_of(outcomes), recorded):
        place = effect.kind, 0 if effect.kind == NOT_CALLED else mutant.statement[0]
        if place in seen:
            continue
        if effect.kind in (NOT_CALLED, NOT_EXECUTED):
            seen.add(place)
        text = f"no test notices: {mutant.operator} in line {mutant.line}; {effect.text}"
        kind = TOO_WEAK if effect.kind in _EVIDENT else UNDECIDED
        if effect.kind == RESULT_DIFFERS and draws(mutant.statement_text):
            kind, text = UNDECIDED, f"{text}; what is drawn at random may be distributed alike"
        yield Finding(task_id, MUTATION, kind, text, mutant.line, mutant.operator, mutant.before, mutant.after, command)


def _effects(survivors: Sequence[Mutant], recorded: Sequence[Recording | None]) -> Iterator[tuple[Mutant, Effect]]:
    match recorded:
        case [Recording() as first, Recording() as second, *others]:
            for one, found in zip(survivors, others, strict=True):
                yield one, effect_of(one.statement, (first, second), found)
        case _:
            yield from ((one, Effect("", "the reference could not be recorded")) for one in survivors)
