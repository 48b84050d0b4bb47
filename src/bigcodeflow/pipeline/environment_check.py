"""Checks of a sandbox environment: tasks that it can judge, correctness and reproducibility of its verdicts."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.config import EnvironmentCheckConfig, RunConfig, SamplesConfig, load_settings
from bigcodeflow.core.table import Column, Table
from bigcodeflow.execution import environment_check as checks
from bigcodeflow.execution import evaluation
from bigcodeflow.execution.environment_check import ControlResult, UnjudgeableTask, wording
from bigcodeflow.execution.quarantine import quarantine_path, quarantined
from bigcodeflow.generation.controls import cheat_name
from bigcodeflow.judge import environments
from bigcodeflow.judge.integrity.contradictions import Coverage, coverage
from bigcodeflow.pipeline import stages
from bigcodeflow.pipeline.resolution import ResolvedRun, Resolver
from bigcodeflow.store import ArtifactRef

_MOST_NAMED = 5


class Imports(NamedTuple):
    """Result of importing the environment's libraries inside a sandbox."""

    modules: int
    failures: Mapping[str, str]
    """Error of each module that cannot be imported."""


class Repeated(NamedTuple):
    """Results of repeated executions of the ground truths."""

    rows: Sequence[Mapping[str, Any]]
    """One row per task, with the columns of QUARANTINE."""
    suspects: Sequence[Mapping[str, Any]]
    """Rows of tasks that failed at least once."""
    path: Path
    """File of the quarantine list."""

    @property
    def executions(self) -> int:
        """Total number of fresh executions, earlier checks included."""
        return sum(row["executions"] for row in self.rows)

    @property
    def table(self) -> Table:
        """Table of the tasks whose ground truth failed at least once."""
        passes = Column("passes", format=lambda row: f"{row['passes']:,} of {row['executions']:,}")
        rows = [(row["task_id"], row, row["statuses"], row["reason"], row["evidence"]) for row in self.suspects]
        return Table.of(("task", passes, "statuses", "needs", "evidence"), rows)


class EnvironmentCheckResult(NamedTuple):
    """Result of a check of an environment."""

    config: EnvironmentCheckConfig
    imports: Imports
    n_tasks: int
    """Number of tasks whose ground truth was executed."""
    unjudgeable: Sequence[UnjudgeableTask]
    controls: Sequence[ControlResult]
    repeated: Repeated | None = None

    @property
    def unjudgeable_table(self) -> Table:
        """Table of the tasks that cannot be judged, with reasons."""
        rows = [(task.task_id, task.status, task.reason, task.evidence) for task in self.unjudgeable]
        return Table.of(("task", "status", "needs", "evidence"), rows)

    def shortcomings(self) -> list[str]:
        """Return the reasons why the environment fails its check, a line for each reason; return [] if it passes."""
        name, found = self.config.environment, []
        if self.imports.failures:
            modules = ", ".join(self.imports.failures)
            found.append(f"{name}: cannot import {modules}: rebuild it with `bigcodeflow env build`")
        n_unjudgeable = len(self.unjudgeable)
        if self.n_tasks - n_unjudgeable < self.config.least_judgeable * self.n_tasks:
            named = ", ".join(task.task_id for task in self.unjudgeable[:_MOST_NAMED])
            more = " …" if n_unjudgeable > _MOST_NAMED else ""
            found.append(f"{name}: {n_unjudgeable:,} of {self.n_tasks:,} tasks cannot be judged ({named}{more})")
        # The oracle's failures are the tasks that cannot be judged, which are counted above.
        untrusted = [result for result in self.controls if result.offences and result.control != "oracle"]
        return found + [f"{name}: {line}" for result in untrusted for line in wording(result)[1:]]


def check_settings(check: EnvironmentCheckConfig) -> RunConfig:
    """Return the settings of a run that checks an environment."""
    environments.find_environment(check.environment)  # refused before anybody waits for a dataset
    source = check.dataset or ("starter" if check.environment == "starter" else "bigcode/bigcodebench")
    given: dict[str, Any] = {
        "store": check.store,
        "dataset": {"source": source, "subset": check.subset, "ids": check.ids},
        "samples": {"source": "oracle"},
        "sanitizing": {"mode": "none"},
        "execution": {"environment": check.environment, "workers": check.workers},
    }
    return load_settings(given, "environment check", check.overrides)


def check_imports(environment: str) -> Imports:
    """Import the environment's libraries inside a sandbox; return their number, and the errors by module."""
    modules = environments.load_definition(environment).imports
    return Imports(len(modules), checks.failing_imports(environments.find_environment(environment), modules))


class EnvironmentCheck:
    """Check of an environment with a dataset's tasks; all results except repetitions are cached in the store."""

    def __init__(self, config: RunConfig, listener: stages.Listener) -> None:
        self._resolver, self._listener = Resolver(), listener
        self._run = self._resolver(config)
        self._store = self._run.store
        self._found = stages.each_stage(partial(self._perform, self._run), target="ground_truth")
        self._tasks, self._truths = (self._store.read(self._found[name]) for name in ("dataset", "ground_truth"))
        self._environment = environments.find_environment(config.execution.environment)
        self.n_tasks = self._truths.num_rows
        """Number of tasks whose ground truth was executed."""

    def unjudgeable(self) -> list[UnjudgeableTask]:
        """Return the tasks that cannot be judged in this environment, with reasons."""
        return checks.unjudgeable_tasks(self._truths)

    def controls(self, *, adversaries: bool) -> list[ControlResult]:
        """Judge canonical solutions, which must pass; with ``adversaries``, also stubs and cheats, which must fail."""
        judgeable = frozenset(row["task_id"] for row in self._truths.to_pylist() if row["status"] == "pass")
        results = [checks.check_oracle(self._truths), checks.check_tests_run(self._truths)]
        cheats = {task["task_id"]: cheat_name(task) for task in self._tasks.to_pylist()}
        for control in checks.MUST_NOT_PASS if adversaries else ():
            run = self._resolver(self._run.config.model_copy(update={"samples": SamplesConfig(source=control)}))
            found = stages.each_stage(partial(self._perform, run), target="execution", given=self._found)
            verdicts, names = self._store.read(found["execution"]), cheats if control == "cheat" else {}
            results.append(checks.check_never_passes(control, verdicts, self._tasks, judgeable, names=names))
        return results

    def contradictions(self) -> list[Coverage]:
        """Count each judgeable task's test methods, and the methods that can expose forged passes; see `Coverage`."""
        with evaluation.contradicting(
            self._tasks,
            self._truths,
            config=self._run.config.execution,
            environment=self._environment,
            store=self._store,
            progress=self._listener.begin("contradictions"),
        ) as given:
            return coverage(*given)

    def repeat(self, times: int) -> Repeated:
        """Execute every ground truth ``times`` more times; count the outcomes in the environment's quarantine list."""
        rows = checks.repeat_ground_truths(
            self._tasks,
            times=times,
            config=self._run.config.execution,
            environment=self._environment,
            store=self._store,
            progress=self._listener.begin(f"ground truths, {times:,} times"),
        )
        return Repeated(rows, quarantined(rows), quarantine_path(self._store, self._environment.environment_sha))

    def _perform(self, run: ResolvedRun, name: str, refs: Mapping[str, ArtifactRef]) -> ArtifactRef:
        return stages.perform(stages.stage_of(name, run, refs), self._store, self._listener)
