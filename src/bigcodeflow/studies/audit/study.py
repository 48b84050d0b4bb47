"""Whole audit: ordinary runs of reference solutions, mutants and recordings, and findings from their verdicts."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from bigcodeflow import environments
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import perform_up_to
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, artifact_key, open_store
from bigcodeflow.studies.audit import VERSION, AuditConfig, contradicted, disputed, executions
from bigcodeflow.studies.audit.errata import errata_findings
from bigcodeflow.studies.audit.findings import Finding, MutantCounts
from bigcodeflow.studies.audit.mutation import Mutant, mutants_of
from bigcodeflow.studies.audit.recording import recorded_program, recordings
from bigcodeflow.studies.audit.survivors import Reproduction, mutation_rows
from bigcodeflow.studies.derived_files import sample_file
from bigcodeflow.studies.records import publish_study

Task = Mapping[str, Any]
#: A mutant may loop forever: it is stopped early and counts as noticed.
_FAST = ("execution.limits.time_policy=scaled", "execution.fail_fast=true")


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
        findings = [*self._contradictions(), *self._executions(), *self._disputes()]
        findings += errata_findings(self._tasks)
        rows = [*survivors, *(one.row() | dict.fromkeys(MutantCounts._fields) for one in findings)]
        order = {task["task_id"]: number for number, task in enumerate(self._tasks)}
        rows.sort(key=lambda row: (order[row["task_id"]], row["method"], row["line"] or 0, row["before"], row["after"]))
        settings = {"seed": self._config.seed, "mutants": self._config.mutants, "dataset": self._dataset.key}
        settings |= {"rows": _digest(rows)}
        key = artifact_key("audit", VERSION, settings, [ref.key for ref in self._inputs])
        found = self._store.find("audit", key)
        if found:
            return found
        # The title must not show folders of this machine.
        source = Path(self._settings.dataset.source).name
        title = f"{len(self._tasks):,} tasks of {source}, {self._config.environment}"
        return publish_study(self._store, "audit", key, rows, title=title, settings=settings, inputs=self._inputs)

    @cached_property
    def _reproduction(self) -> Reproduction:
        return Reproduction(self._settings.dataset.source, self._config)

    @property
    def _passing(self) -> set[str]:
        return {
            row["task_id"] for row in self._truths.select(["task_id", "status"]).to_pylist() if row["status"] == "pass"
        }

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
        tasks = [task for task in self._tasks if task["task_id"] in self._passing]
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

    def _mutants(self, task: Task) -> Any:
        first = task["complete_prompt"].count("\n") + 1
        settings = {"most": self._config.mutants, "seed": self._config.seed}
        return mutants_of(reference(task), first, task["entry_point"], **settings)

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
        rows = contradicted.undetected(self._task_table, self._truths, run, self._store, self._listener)
        return [contradicted.finding(task_id, one, self._reproduction.of(task_id)) for task_id, one in rows]

    def _executions(self) -> list[Finding]:
        sha = Resolver()(self._settings).contents["environment"].value.environment_sha
        return executions.findings(self._tasks, self._truths, self._store, sha, self._reproduction.of)

    def _disputes(self) -> list[Finding]:
        return disputed.findings(self._runs, self._tasks, self._reproduction.of)


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


def _digest(rows: Sequence[Mapping[str, Any]]) -> str:
    return hashlib.sha256(json.dumps(rows, sort_keys=True, default=str).encode()).hexdigest()
