"""Perturbation: scores of models on variants of tasks that mean the same, checked by the reference solution.

A model that has memorized a task's text scores lower on variants of it; a model that solves tasks does not.
"""

from typing import Annotated

from pydantic import AfterValidator, Field

from bigcodeflow.config import RunConfig, SamplesConfig
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.studies.registry import Study
from bigcodeflow_studies.perturbation.schema import PERTURBATION
from bigcodeflow_studies.perturbation.variants import checked_kinds

#: Part of the keys of variants and results; raise it when the same settings give other variants or results.
VERSION = 1
DEFAULT_KINDS = ("function", "parameters", "literals", "docstring", "data", "function+parameters+docstring")


class PerturbationConfig(SettingsModel):
    """Settings of the study: a run, and the changes of its tasks for a second run to compare it with."""

    run: RunConfig = RunConfig(samples=SamplesConfig(source="oracle"))
    """The run on the original tasks: which tasks, which model, where it is executed."""
    kinds: Annotated[tuple[str, ...], AfterValidator(checked_kinds)] = DEFAULT_KINDS
    """Parts to change: function, parameters, literals, docstring, data, or several of them joined, as in
    'function+docstring'. Each makes variants of its own."""
    seed: int = Field(default=0, ge=0)
    """The same seed gives the same variants."""
    per_task: int = Field(default=1, ge=1, le=20)
    """Variants of each task and kind, as far as there are so many."""


class Perturbation(Study[PerturbationConfig]):
    """Compares two runs: its flow is in the module `flow`, its commands are in `commands`."""

    title = "Perturbation"
    description = "Measure the score that a model loses on variants of the tasks that mean the same, with intervals."
    schema = PERTURBATION
