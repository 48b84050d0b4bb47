"""Whole audit: ordinary runs of reference solutions, mutants and recordings, and findings from their verdicts."""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.judge import environments
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, artifact_key, open_store
from bigcodeflow.studies.audit import VERSION, AuditConfig, disputed
from bigcodeflow.studies.audit.findings import (
    COUNTED,
    MUTATION,
    TOO_WEAK,
    UNDECIDED,
    Finding,
    MutantCounts,
    contradiction_finding,
    errata_findings,
    execution_findings,
    undetected,
)
from bigcodeflow.studies.audit.mutation import Mutant, Mutants, mutants_of
from bigcodeflow.studies.audit.recording import (
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
from bigcodeflow.studies.derived_files import sample_file
from bigcodeflow.studies.records import publish_study

Task = Mapping[str, Any]
#: A mutant may loop forever: it is stopped early and counts as noticed.
_FAST = ("execution.limits.time_policy=scaled", "execution.fail_fast=true")
#: Effects that show that a test is too weak; any other survivor may be equivalent.
_EVIDENT = frozenset({RESULT_DIFFERS, NOT_EXECUTED, NOT_CALLED})
Outcomes = Mapping[str, Sequence[tuple[Mutant, str]]]


class Reproduction(NamedTuple):
    """Settings of an audit, for the commands that reproduce its findings."""

    source: str
    config: AuditConfig

    def of(self, task_id: str) -> str:
        """Return the command that audits one task with the same settings."""
        given = {"--environment": self.config.environment, "--dataset": self.source, "--ids": task_id}
        given |= {"--mutants": str(self.config.mutants), "--seed": str(self.config.seed)}
        options = " ".join(f"{name} {shlex.quote(value)}" for name, value in given.items())
        options += "".join(f" --set {shlex.quote(one)}" for one in self.config.overrides)
        options += "" if self.config.contradictions else " --no-contradictions"
        return f"bigcodeflow audit {options}"


def audit_settings(config: AuditConfig, samples: str = "oracle", extra: Sequence[str] = ()) -> RunConfig:
    """Return the settings of the run that executes samples for an audit."""
    source = config.dataset or ("starter" if config.environment == "starter" else "bigcode/bigcodebench")
    given: dict[str, Any] = {
        "name": "audit",
        "store": config.store,
        "dataset": {"source": source, "subset": config.subset, "ids": config.ids},
        "samples": {"source": samples},
        "sanitizing": {"mode": "none", "safety_policy": "off"},
        "execution": {"environment": config.environment, "workers": config.workers, "integrity": "off"},
    }
    return load_settings(given, "audit", (*config.overrides, *extra))


def audit(config: AuditConfig, listener: Listener) -> ArtifactRef:
    """Audit the tasks and publish the findings; reuse earlier executions."""
    environments.find_environment(config.environment)  # fail before the dataset is loaded
    return _Audit(config, listener).publish()


class _Audit:
    def __init__(self, config: AuditConfig, listener: Listener) -> None:
        self._config, self._listener, self._store = config, listener, open_store(config.store)
        self._settings = audit_settings(config)
        self._runs = disputed.named_runs(config.store, config.runs)  # fail before anything is executed
        self._inputs: list[ArtifactRef] = []
        refs = self._perform(self._settings, "ground_truth")
        self._dataset = refs["dataset"]
        self._task_table = self._store.read(self._dataset)
        self._tasks: Sequence[Task] = self._task_table.to_pylist()
        self._truths = self._store.read(refs["ground_truth"])

    def publish(self) -> ArtifactRef:
        survivors = self._mutation()
        command = self._reproduction.of
        sha = Resolver()(self._settings).contents["environment"].value.environment_sha
        findings = [
            *self._contradictions(),
            *execution_findings(self._tasks, self._truths, self._store, sha, command),
            *disputed.findings(self._runs, self._tasks, command),
            *errata_findings(self._tasks),
        ]
        rows = [*survivors, *(one._asdict() | dict.fromkeys(MutantCounts._fields) for one in findings)]
        order = {task["task_id"]: number for number, task in enumerate(self._tasks)}
        rows.sort(key=lambda row: (order[row["task_id"]], row["method"], row["line"] or 0, row["before"], row["after"]))
        settings = {"seed": self._config.seed, "mutants": self._config.mutants, "dataset": self._dataset.key}
        content = json.dumps(rows, sort_keys=True, default=str)
        settings |= {"rows": hashlib.sha256(content.encode()).hexdigest()}
        key = artifact_key("audit", VERSION, settings, [ref.key for ref in self._inputs])
        # The title must not show folders of this machine.
        source = Path(self._settings.dataset.source).name
        title = f"{len(self._tasks):,} tasks of {source}, {self._config.environment}"
        return publish_study(self._store, "audit", key, rows, title=title, settings=settings, inputs=self._inputs)

    @cached_property
    def _reproduction(self) -> Reproduction:
        return Reproduction(self._settings.dataset.source, self._config)

    def _perform(self, settings: RunConfig, target: str = "execution") -> dict[str, ArtifactRef]:
        refs = perform_up_to(target, settings, self._listener)
        self._inputs += [refs[name] for name in ("ground_truth", "execution") if name in refs]
        return refs

    def _execute(self, name: str, programs: Sequence[tuple[str, str]], extra: Sequence[str] = ()) -> pa.Table:
        """Execute (task id, program) pairs and return their verdicts; every task needs at least one program."""
        settings = audit_settings(self._config, sample_file(self._store, name, programs), extra)
        return self._store.read(self._perform(settings)["execution"])

    def _mutation(self) -> list[dict[str, Any]]:
        """Return a row for each surviving mutant, and a row of counts for each task that can be judged."""
        truths = self._truths.select(["task_id", "status"]).to_pylist()
        passing = {row["task_id"] for row in truths if row["status"] == "pass"}
        tasks = [task for task in self._tasks if task["task_id"] in passing]
        made = {task["task_id"]: self._mutants(task) for task in tasks}
        programs = []
        for task in self._tasks:
            mutants = made[task["task_id"]].chosen if task["task_id"] in made else ()
            programs += [(task["task_id"], text) for text in (reference(task), *(one.program for one in mutants))]
        verdicts = self._execute("mutants", programs, _FAST)
        statuses = {
            (row["task_id"], row["sample_index"]): row["status"]
            for row in verdicts.select(["task_id", "sample_index", "status"]).to_pylist()
        }
        outcomes = {task_id: _outcomes(task_id, mutants.chosen, statuses) for task_id, mutants in made.items()}
        lived = {
            task_id: [one for one, status in pairs if status == "pass" and not one.apart]
            for task_id, pairs in outcomes.items()
        }
        effects = self._recorded(lived)
        return mutation_rows(tasks, made, outcomes, effects, self._reproduction)

    def _mutants(self, task: Task) -> Mutants:
        first, most, seed = task["complete_prompt"].count("\n") + 1, self._config.mutants, self._config.seed
        return mutants_of(reference(task), first, task["entry_point"], most=most, seed=seed)

    def _recorded(self, lived: Mapping[str, Sequence[Mutant]]) -> dict[str, list[Any]]:
        """Return recordings by task with survivors: two of the reference, then each survivor's; None if it failed."""
        programs = []
        for task in self._tasks:
            own, name = reference(task), task["entry_point"]
            texts = [recorded_program(own, name, trace=True), recorded_program(own, name, number=1)]
            texts += [recorded_program(one.program, name) for one in lived.get(task["task_id"], ())]
            programs += [(task["task_id"], text) for text in (texts if lived.get(task["task_id"]) else [own])]
        found = recordings(self._execute("recorded", programs).to_pylist())
        return {
            task_id: [found.get((task_id, number)) for number in range(len(mutants) + 2)]
            for task_id, mutants in lived.items()
            if mutants
        }

    def _contradictions(self) -> list[Finding]:
        if not self._config.contradictions:
            return []
        run = Resolver()(self._settings)
        rows = undetected(self._task_table, self._truths, run, self._store, self._listener)
        return [contradiction_finding(task_id, one, self._reproduction.of(task_id)) for task_id, one in rows]


def _outcomes(
    task_id: str, mutants: Sequence[Mutant], statuses: Mapping[tuple[str, int], str]
) -> list[tuple[Mutant, str]]:
    """Pair each mutant with its status, or with infra_error if the reference failed in the same run."""
    if statuses[task_id, 0] != "pass":
        return [(one, "infra_error") for one in mutants]
    return [(one, statuses[task_id, number]) for number, one in enumerate(mutants, start=1)]


def reference(task: Task) -> str:
    """Return the whole reference program."""
    return str(task["complete_prompt"] + task["canonical_solution"])


def mutation_rows(
    tasks: Sequence[Mapping[str, Any]],
    made: Mapping[str, Mutants],
    outcomes: Outcomes,
    recorded: Mapping[str, Sequence[Recording | None]],
    reproduction: Reproduction,
) -> list[dict[str, Any]]:
    """Return a row of counts for each task, and a row for each survivor; those in a line that never runs share one.

    Args:
        tasks: rows of TASKS whose ground truth passes.
        made: mutants by task id.
        outcomes: each chosen mutant with the status of its verdict, by task id.
        recorded: the reference's two recordings and one of each survivor, by task id.
        reproduction: gives the command that reproduces a finding.
    """
    rows = []
    for task in tasks:
        task_id = task["task_id"]
        survivors = [one for one, status in outcomes[task_id] if status == "pass" and not one.apart]
        counts = _counts(made[task_id], outcomes[task_id])
        total = counts.killed + counts.survived
        text = f"the test notices {counts.killed} of {total} mutants" if total else "no mutant could be judged"
        command = reproduction.of(task_id)
        counted = Finding(task_id, MUTATION, COUNTED, text, command=command)
        rows.append(counted._asdict() | counts._asdict())
        findings = _findings(task_id, survivors, recorded.get(task_id, ()), command)
        rows += [one._asdict() | dict.fromkeys(MutantCounts._fields) for one in findings]
    return rows


def _counts(mutants: Mutants, outcomes: Sequence[tuple[Mutant, str]]) -> MutantCounts:
    statuses = [status for one, status in outcomes if not one.apart]
    survived, unjudged = statuses.count("pass"), statuses.count("infra_error")
    return MutantCounts(
        killed=len(statuses) - survived - unjudged,
        survived=survived,
        apart=len(outcomes) - len(statuses),
        equivalent=mutants.equivalent,
        unjudged=unjudged,
        possible=mutants.possible,
    )


def _findings(
    task_id: str, survivors: Sequence[Mutant], recorded: Sequence[Recording | None], command: str
) -> Iterator[Finding]:
    if len(recorded) < 2 or recorded[0] is None or recorded[1] is None:  # noqa: PLR2004 -- the reference's two
        effects = [Effect("", "the reference could not be recorded")] * len(survivors)
    else:
        own = recorded[0], recorded[1]
        effects = [effect_of(one.statement, own, found) for one, found in zip(survivors, recorded[2:], strict=True)]
    told: set[tuple[str, int]] = set()
    for mutant, effect in zip(survivors, effects, strict=True):
        place = effect.kind, 0 if effect.kind == NOT_CALLED else mutant.statement[0]
        if place in told:
            continue
        if effect.kind in (NOT_CALLED, NOT_EXECUTED):
            told.add(place)
        text = f"no test notices: {mutant.operator} in line {mutant.line}; {effect.text}"
        kind = TOO_WEAK if effect.kind in _EVIDENT else UNDECIDED
        if effect.kind == RESULT_DIFFERS and draws(mutant.statement_text):
            kind, text = UNDECIDED, f"{text}; what is drawn at random may be distributed alike"
        yield Finding(task_id, MUTATION, kind, text, mutant.line, mutant.operator, mutant.before, mutant.after, command)
