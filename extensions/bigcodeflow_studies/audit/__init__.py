"""Audit of tasks: gaps in their tests, tests that all models fail alike, and tasks that cannot be judged reliably.

Mutants of each reference solution and contradictions of its test are executed. Recorded runs show which tests all
models fail alike; ground truths and the quarantine list show which tasks need something that is missing.
"""

import shlex

from pydantic import Field

from bigcodeflow.config import Subset
from bigcodeflow.core.settings import SET, SettingOption
from bigcodeflow.studies.registry import Study
from bigcodeflow.studies.settings import ExecutionSettings
from bigcodeflow_studies.audit.schema import AUDIT

#: Part of the result's key; raise it when the same inputs give other rows.
VERSION = 1


class AuditConfig(ExecutionSettings):
    """Settings of the audit: the tasks, and how thoroughly they are audited."""

    dataset: str = ""
    """Tasks to audit, written as dataset.source; empty takes the dataset of the environment."""
    subset: Subset = "full"
    """'full' takes every task, 'hard' only BigCodeBench-Hard."""
    runs: tuple[str, ...] = ()
    """Recorded runs of strong models, by record, run or model name: a task that all runs fail alike is a finding."""
    mutants: int = Field(default=30, ge=1, le=500)
    """Maximum number of mutants of each reference solution."""
    seed: int = Field(default=0, ge=0)
    """Seed of the choice of mutants."""
    contradictions: bool = True
    """Also execute each reference solution against altered tests that contradict it."""

    def command(self, source: str, task_id: str) -> str:
        """Return the command that audits the task ``task_id`` of the dataset ``source`` with these settings."""
        given = {"--environment": self.environment, "--dataset": source, "--ids": task_id}
        given |= {"--mutants": str(self.mutants), "--seed": str(self.seed)}
        options = " ".join(f"{name} {shlex.quote(value)}" for name, value in given.items())
        options += "".join(f" --set {shlex.quote(one)}" for one in self.overrides)
        options += "" if self.contradictions else " --no-contradictions"
        return f"bigcodeflow audit {options}"


class Audit(Study[AuditConfig]):
    """Audit tasks by mutants of the reference solutions, contradicted tests, recorded runs and ground truths.

    A mutant that passes a task's test shows a behaviour that the test probably does not check. Finished executions
    are reused: the same command again shows the same findings.
    """

    title = "Audit of tasks"
    description = (
        "Find gaps in the tests of tasks, tasks that models dispute, and tasks that cannot be judged reliably."
    )
    schema = AUDIT
    settings = AuditConfig
    options = (
        *("environment", "dataset", "subset", "ids", SettingOption("runs", "run")),
        *("mutants", "seed", "contradictions", "workers", "store", SET),
    )

    def subject(self, settings: AuditConfig) -> str:
        return f"{settings.environment}, {settings.subset}"

    def run_name(self, settings: AuditConfig) -> str:
        return f"audit {self.subject(settings)}"
