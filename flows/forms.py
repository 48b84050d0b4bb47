"""Short forms for the Prefect UI: ask a model, judge samples, sweep models. The full forms are separate flows."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from bigcodeflow.pipeline.concurrent_stages import StageLocks
from bigcodeflow.pipeline.forms import asked_run, judged_run, models_sweep
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.sweep_results import MemberResult
from bigcodeflow.recording import FinishedRun
from flows.benchmark import judge, scored
from flows.hooks import by_parameters, reporting_flow
from flows.sweep import run_members, sweep_title

R = TypeVar("R")


def _with_fields_of(make: Callable[..., Any]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a flow's function the signature and Args section of ``make``, from which Prefect builds the form."""

    def decorate(body: Callable[..., R]) -> Callable[..., R]:
        fields = (inspect.getdoc(make) or "").partition("Args:")[2].partition("\n\nRaises:")[0]
        body.__doc__ = f"{inspect.getdoc(body)}\n\nArgs:{fields}\n"
        returned = inspect.signature(body).return_annotation
        body.__signature__ = inspect.signature(make).replace(return_annotation=returned)  # type: ignore[attr-defined]
        return body

    return decorate


@reporting_flow("ask-a-model", flow_run_name=by_parameters(asked_run, run_title))
@_with_fields_of(asked_run)
def ask_a_model(**fields: Any) -> FinishedRun:
    """Ask a model and score its answers. Finished work is reused."""
    return scored(judge(asked_run(**fields), Resolver(), StageLocks(), fields["preset"]))


@reporting_flow("judge-samples", flow_run_name=by_parameters(judged_run, run_title))
@_with_fields_of(judged_run)
def judge_samples(**fields: Any) -> FinishedRun:
    """Judge existing samples, of a file or of a recorded run. Asks no model."""
    preset = "" if fields["run"] else fields["preset"]
    return scored(judge(judged_run(**fields), Resolver(), StageLocks(), preset))


@reporting_flow("sweep-models", flow_run_name=by_parameters(models_sweep, sweep_title))
@_with_fields_of(models_sweep)
def sweep_models(**fields: Any) -> list[MemberResult]:
    """Ask several models, on one or more benchmarks. Finished work is reused; a failed run stops no other run."""
    return run_members(models_sweep(**fields))
