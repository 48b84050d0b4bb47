"""Checks of a sandbox environment: what it can judge, whether its verdicts can be trusted, and how reliably."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from bigcodeflow import environments
from bigcodeflow.config import RunConfig, Subset, load_settings
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.execution.environment_check import (
    MUST_NOT_PASS,
    ControlResult,
    UnjudgeableTask,
    check_never_passes,
    check_oracle,
    check_tests_run,
    failing_imports,
    unjudgeable_tasks,
    wording,
)
from bigcodeflow.execution.integrity.checks import Coverage
from bigcodeflow.pipeline import stages
from bigcodeflow.pipeline.resolution import ResolvedRun, Resolver
from bigcodeflow.store import ArtifactRef, open_store

_MOST_NAMED = 5


class EnvironmentCheckConfig(SettingsModel):
    """Which environment is checked, and how thoroughly."""

    environment: str = "starter"
    """Sandbox environment: 'starter' or 'bigcodebench', see `bigcodeflow env list`."""
    dataset: str = ""
    """Tasks whose ground truths are executed; empty takes the environment's own."""
    subset: Subset = "full"
    """'full' takes every task, 'hard' only BigCodeBench-Hard."""
    ids: str = ""
    """Only these task numbers or ids, such as '1,5-9'; empty takes all."""
    controls: bool = True
    """Judge a stub and a cheat for every task too, which must never pass."""
    repeat: int = Field(default=0, ge=0, le=1000)
    """Execute every ground truth so many times afresh, and put tasks that fail any of them in quarantine."""
    least_judgeable: float = Field(default=1.0, ge=0, le=1)
    """Share of the tasks that must be judgeable; below it the check fails. 1 forgives no task."""
    workers: int = Field(default=0, ge=0, le=1024)
    """Samples that compute at the same time; 0 takes one a core."""
    overrides: tuple[str, ...] = ()
    """Any other settings, such as 'execution.limits.time_seconds=60'."""
    store: str = "results/store"
    """Folder of cached artifacts: what was executed is not executed again."""


class Imports(NamedTuple):
    """Whether the environment's libraries can be imported inside a sandbox."""

    modules: int
    failures: Mapping[str, str]
    """Error of each module that cannot be imported."""


class Repeated(NamedTuple):
    """What executing the ground truths again and again has shown."""

    rows: Sequence[Mapping[str, Any]]
    """Columns as in QUARANTINE."""
    suspects: Sequence[Mapping[str, Any]]
    """Rows of tasks that failed at least once."""
    path: Path
    """Where the list is kept."""

    @property
    def executions(self) -> int:
        """Fresh executions in all, earlier checks included."""
        return sum(row["executions"] for row in self.rows)


def check_settings(check: EnvironmentCheckConfig) -> RunConfig:
    """The run's settings under which an environment is checked.

    Raises:
        ConfigError: a setting that cannot work.
        EnvironmentUnusableError: the environment is not defined or not built here.
        DatasetError: the dataset is absent or unreachable.
    """
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
    """Import the environment's libraries inside a sandbox.

    Raises:
        EnvironmentUnusableError: the environment is not built here.
        SandboxUnavailableError: no sandbox can be started here.
    """
    modules = environments.load_definition(environment).imports
    return Imports(len(modules), failing_imports(environments.find_environment(environment), modules))


class EnvironmentCheck:
    """One check of one environment over one dataset; everything but repetitions is cached in the store."""

    def __init__(self, config: RunConfig, listener: stages.Listener) -> None:
        self._resolver, self._listener, self._store = Resolver(), listener, open_store(config.store)
        self._run = self._resolver(config)
        found = stages.each_stage(partial(self._perform, self._run), target="ground_truth")
        self._dataset, self._truths = found["dataset"], found["ground_truth"]

    @property
    def n_tasks(self) -> int:
        """Tasks whose ground truth was executed."""
        return self._truths.rows

    def unjudgeable(self) -> list[UnjudgeableTask]:
        """Tasks that cannot be judged here, and why."""
        return unjudgeable_tasks(self._store.read(self._truths))

    def controls(self, *, adversaries: bool) -> list[ControlResult]:
        """How the controls went: canonical solutions, tests that ran, and with adversaries also a stub and a cheat."""
        from bigcodeflow.generation.controls import cheat_name

        tasks, truths = self._store.read(self._dataset), self._store.read(self._truths)
        judgeable = frozenset(row["task_id"] for row in truths.to_pylist() if row["status"] == "pass")
        results = [check_oracle(truths), check_tests_run(truths)]
        for control in MUST_NOT_PASS if adversaries else ():
            names = {task["task_id"]: cheat_name(task) for task in tasks.to_pylist()} if control == "cheat" else {}
            config = self._run.config
            samples = config.samples.model_copy(update={"source": control})
            run = self._resolver(config.model_copy(update={"samples": samples}))
            given = {"dataset": self._dataset, "ground_truth": self._truths}
            found = stages.each_stage(partial(self._perform, run), target="execution", given=given)
            verdicts = self._store.read(found["execution"])
            results.append(check_never_passes(control, verdicts, tasks, judgeable, names=names))
        return results

    def contradictions(self) -> list[Coverage]:
        """How much of each judgeable task's test can be contradicted; other passes cannot be checked."""
        from bigcodeflow.execution import evaluation

        config = self._run.config.execution
        return evaluation.contradiction_coverage(
            self._store.read(self._dataset),
            self._store.read(self._truths),
            config=config,
            environment=environments.find_environment(config.environment),
            store=self._store,
            progress=self._listener.begin("contradictions"),
        )

    def repeat(self, times: int) -> Repeated:
        """Execute every ground truth afresh and count the outcomes in the environment's quarantine list."""
        from bigcodeflow.execution.environment_check import quarantine_path, quarantined, repeat_ground_truths

        environment = environments.find_environment(self._run.config.execution.environment)
        rows = repeat_ground_truths(
            self._store.read(self._dataset),
            times=times,
            config=self._run.config.execution,
            environment=environment,
            store=self._store,
            progress=self._listener.begin(f"ground truths, {times:,} times"),
        )
        return Repeated(rows, quarantined(rows), Path(quarantine_path(self._store, environment.environment_sha)))

    def _perform(self, run: ResolvedRun, name: str, refs: Mapping[str, ArtifactRef]) -> ArtifactRef:
        return stages.perform(stages.stage_of(name, run, refs), self._store, self._listener)


def shortcomings(
    check: EnvironmentCheckConfig,
    n_tasks: int,
    *,
    imports: Imports,
    unjudgeable: Sequence[UnjudgeableTask],
    controls: Sequence[ControlResult],
) -> list[str]:
    """Why the environment does not pass its check, a line each; empty where it does."""
    name, found = check.environment, []
    if imports.failures:
        found.append(f"{name}: cannot import {', '.join(imports.failures)}: rebuild it with `bigcodeflow env build`")
    if n_tasks - len(unjudgeable) < check.least_judgeable * n_tasks:
        named = ", ".join(task.task_id for task in unjudgeable[:_MOST_NAMED])
        more = " …" if len(unjudgeable) > _MOST_NAMED else ""
        found.append(f"{name}: {len(unjudgeable):,} of {n_tasks:,} tasks cannot be judged ({named}{more})")
    # The oracle's failures are the tasks that cannot be judged, which are counted above.
    untrusted = [result for result in controls if result.offences and result.control != "oracle"]
    found += [f"{name}: {line}" for result in untrusted for line in wording(result)[1:]]
    return found
