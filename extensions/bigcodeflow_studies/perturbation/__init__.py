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
    """Settings of the study: a run on original tasks, and the changes that make the variants for a second run."""

    run: RunConfig = RunConfig(samples=SamplesConfig(source="oracle"))
    """Run on the original tasks: its dataset, its model or other samples, and its execution."""
    kinds: Annotated[tuple[str, ...], AfterValidator(checked_kinds)] = DEFAULT_KINDS
    """Parts of a task to change: function, parameters, literals, docstring, data, or several parts joined by +, as in
    'function+docstring'. Each entry makes separate variants."""
    seed: int = Field(default=0, ge=0)
    """Seed of the random changes: the same seed gives the same variants."""
    per_task: int = Field(default=1, ge=1, le=20)
    """Maximum number of variants of each task and kind."""


class Perturbation(Study[PerturbationConfig]):
    """Study that compares a run on tasks with a run on variants of the tasks; see the modules `flow` and `commands`."""

    title = "Perturbation"
    description = "Measure the score that a model loses on variants of the tasks that mean the same, with intervals."
    schema = PERTURBATION
