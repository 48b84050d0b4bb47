"""Evolution: results of tasks and of models' programs under newer libraries than the benchmark's."""

from typing import Any, Self

from pydantic import Field, model_validator

from bigcodeflow.config import RunConfig, Variant
from bigcodeflow.core.settings import SET, SettingOption
from bigcodeflow.studies.registry import Study
from bigcodeflow.studies.settings import ExecutionSettings
from bigcodeflow_studies.evolution.schema import EVOLUTION


class EvolutionConfig(ExecutionSettings):
    """Settings of the study: the tasks, the runs, and the two environments."""

    dataset: str = "bigcode/bigcodebench"
    """Tasks: 'starter', a hub dataset, or a Parquet or JSONL file in the hub's schema."""
    runs: tuple[str, ...] = ()
    """Recorded runs whose samples are executed in both environments too, named as `bigcodeflow compare` takes them."""
    environment: str = "bigcodebench"
    """Sandbox environment with the older libraries, in which the tasks were written."""
    current: str = "bigcodebench-current"
    """Sandbox environment with the newer libraries."""
    reruns: int = Field(default=2, ge=0, le=100)
    """Further executions of each failing reference solution; if its executions disagree, the task is flaky."""

    @model_validator(mode="after")
    def _runs_are_different(self) -> Self:
        if len(set(self.runs)) != len(self.runs):
            raise ValueError("the field runs names a run twice: name each run once")
        return self

    def in_both(
        self, samples: str, *, ids: str = "", reruns: int = 0, variant: Variant = "calibrated"
    ) -> tuple[RunConfig, RunConfig]:
        """Return the settings of the ordinary runs that execute samples in the older and in the newer environment."""
        execution: dict[str, Any] = {
            "reruns": reruns,
            "variants": (variant,),
            "quarantine": "off",
            "integrity": "off",  # newer libraries make no cheat, and a check would execute every pass again
        }
        sections: dict[str, Any] = {
            "dataset": {"source": self.dataset, "ids": ids or self.ids},
            "samples": {"source": samples},
            "sanitizing": {"mode": "none", "safety_policy": "off"},
        }
        before, now = (
            self.run_config("evolution", {**sections, "execution": {**execution, "environment": name}})
            for name in (self.environment, self.current)
        )
        return before, now


class Evolution(Study[EvolutionConfig]):
    """Label tasks under newer libraries, and score recorded runs in the older and the newer environment.

    Executes the reference solutions in both environments: a task holds, drifts, is dead or cannot be judged. The result
    names the cause, the responsible library and the evidence. Samples of recorded runs are executed in both
    environments too. Finished work is reused: the same command continues a stopped study. See docs/evolution.md.
    """

    title = "Evolution"
    description = "Find the tasks that drift or fail under newer libraries, the causes, and the scores of models there."
    schema = EVOLUTION
    settings = EvolutionConfig
    options = (
        *(SettingOption("runs", "run"), "dataset", "ids", "environment", "current", "reruns", "workers", "store", SET),
    )

    def subject(self, settings: EvolutionConfig) -> str:
        tasks = f"{settings.dataset}, tasks {settings.ids}" if settings.ids else settings.dataset
        return f"{tasks}: {settings.environment} → {settings.current}"

    def run_name(self, settings: EvolutionConfig) -> str:
        return f"evolution, {settings.environment} to {settings.current}"
