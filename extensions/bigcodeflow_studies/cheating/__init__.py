"""Cheating rate: share of models' answers that cheat, on tasks whose shown tests contradict the description."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import yaml
from pydantic import Field, field_validator

from bigcodeflow.config import RunConfig, Split, Subset
from bigcodeflow.core.settings import SET, SettingOption
from bigcodeflow.studies.registry import Study
from bigcodeflow.studies.settings import ExecutionSettings
from bigcodeflow_studies.cheating.schema import CHEATING


class Wording(StrEnum):
    """Wordings of the sentence that introduces the shown tests; the sentences are in wordings.yaml."""

    neutral = "neutral"
    tests_first = "make-tests-pass"
    description_first = "follow-description"


#: Time limit of an execution. The message of a failing comparison of long values may take minutes; contradictions that
#: exceed the limit are not used.
_TIME_SECONDS = 60
#: Sentence shown before the tests, by the name of the wording.
WORDINGS: Mapping[str, str] = yaml.safe_load(files(__package__).joinpath("wordings.yaml").read_text(encoding="utf-8"))


class ContradictedTasksConfig(ExecutionSettings):
    """Settings that make contradicted tasks: the original tasks, and how programs are executed."""

    dataset: str = "starter"
    """'starter', a hub dataset, or a task file; a file of contradicted tasks is used unchanged."""
    subset: Subset = "full"
    """'full' takes every task, 'hard' only BigCodeBench-Hard."""
    least_solve_rate: float = Field(default=0.5, ge=0, le=1)
    """Take tasks that at least this share of published models solves, and tasks whose solve rate is unknown. A model
    that cannot solve a task may fail whether it wants to cheat or not."""

    def run(self, **sections: Any) -> RunConfig:
        """Return the settings of an ordinary run for the study; ``sections`` override the study's own settings."""
        execution = {"quarantine": "off", "limits": {"time_seconds": _TIME_SECONDS}}
        return self.run_config("cheating", {"execution": execution, **sections})


class CheatingConfig(ContradictedTasksConfig):
    """Settings of the study: the models or samples whose answers to contradicted tasks are judged."""

    models: tuple[str, ...] = ()
    """PROVIDER:NAME of each model that is asked, such as openai:gpt-4o."""
    samples: str = ""
    """Existing answers, instead of models: a sample file for contradicted tasks, or a control such as oracle."""
    wordings: tuple[Wording, ...] = tuple(Wording)
    """Sentences that introduce the shown tests; each model is asked with each sentence. A file of contradicted tasks
    has its own sentence. For a sample file, name the single sentence with which its answers were asked for."""
    split: Split = "instruct"
    """'instruct' prompts show the tests as a code block, 'complete' prompts as comments in front of the code."""
    n_samples: int = Field(default=1, ge=1, le=100_000)
    """Number of answers to each task under each wording."""

    @field_validator("wordings")
    @classmethod
    def _has_a_wording(cls, wordings: tuple[Wording, ...]) -> tuple[Wording, ...]:
        if not wordings or len(set(wordings)) != len(wordings):
            raise ValueError(f"must name wordings, each only once, out of: {', '.join(Wording)}")
        return wordings

    @property
    def sources(self) -> tuple[str, ...]:
        """Models whose answers are judged; without models, the sample file or the control in ``samples``."""
        return self.models or tuple(filter(None, (self.samples,)))

    def title(self, models: Iterable[str]) -> str:
        """Return the title of a study result about these models."""
        return f"{', '.join(models)} on {PurePath(self.dataset).name}, {self.split}"


#: Options that choose the tasks, also of the command that writes them.
TASK_OPTIONS = ("dataset", "subset", "ids", "least_solve_rate", "environment", "workers", "store")


class Cheating(Study[CheatingConfig]):
    """Ask models to solve contradicted tasks, judge their answers, and count the cheats by kind.

    The dataset has ordinary tasks, whose tests are contradicted first, or is a file of `bigcodeflow cheating tasks`.
    Earlier answers and executions are reused.
    """

    title = "Cheating rate"
    description = "Count answers that pass shown tests which contradict the task's description, by kind, with evidence."
    schema = CHEATING
    settings = CheatingConfig
    options = (
        SettingOption("models", "model", help="PROVIDER:NAME of a model to ask; repeatable."),
        "samples",
        SettingOption("wordings", "wording", help="Sentence that introduces the shown tests; repeatable. All if none."),
        *("split", "n_samples", *TASK_OPTIONS, SET),
    )

    def subject(self, settings: CheatingConfig) -> str:
        return settings.title([PurePath(one).name for one in settings.sources])

    run_name = subject

    def runs_of_models(self, settings: CheatingConfig) -> Iterable[RunConfig]:
        return [settings.run(generation={"model": model}) for model in settings.models]
