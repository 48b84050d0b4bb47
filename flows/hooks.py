"""What all flows share: how they fail, and what a run that did not finish says about the way on."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from prefect import Flow, flow, runtime
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.logging.loggers import flow_run_logger
from prefect.states import Failed

import bigcodeflow
from bigcodeflow.core.env_file import take_env_file
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.settings import SettingsModel

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=SettingsModel)

#: What the log of a run that did not finish says, by the type of its last state; of any other it was cancelled.
_REMEDIES = {
    StateType.FAILED: "{state}. Mend what the message names, then {remedy}",
    StateType.CRASHED: "{state}: the process ended before its work did. To go on, {remedy}",
}
_CANCELLED = "Cancelled: sandboxes, workers and requests are stopped. To go on, {remedy}"


def failing_with_message(body: Callable[P, R]) -> Callable[P, R]:
    """A flow's body that ends as failed with an error's own text, which the caller gets raised."""

    @wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            take_env_file()
            return body(*args, **kwargs)
        except BigCodeFlowError as error:
            # Raised from here, the line that says what to do would be buried under a traceback.
            return Failed(message=str(error), data=error.with_traceback(None))  # type: ignore[return-value]

    return run


def by_config(model: type[S], name: Callable[[S], str]) -> Callable[[], str]:
    """What names a flow run by its parameter ``config``."""
    return lambda: name(model.model_validate(runtime.flow_run.parameters["config"]))


def reporting_flow(
    name: str, *, flow_run_name: Callable[[], str] | None = None
) -> Callable[[Callable[P, R]], Flow[P, R]]:
    """Decorate a function as a flow that fails with one line and says how to go on."""

    def decorate(body: Callable[P, R]) -> Flow[P, R]:
        decorated: Flow[P, R] = flow(
            name=name,
            flow_run_name=flow_run_name,
            version=bigcodeflow.__version__,
            persist_result=False,  # nothing reads it: an artifact that Prefect remembers may no longer be in the store
            on_failure=[log_remedy],
            on_crashed=[log_remedy],
            on_cancellation=[log_remedy],
        )(failing_with_message(body))
        return decorated

    return decorate


def log_remedy(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Say how to continue a run that failed, was cancelled, or whose process died."""
    remedy = f"{how_to_continue(flow, flow_run)}: finished stages and finished samples are reused."
    text = _REMEDIES.get(state.type, _CANCELLED).format(state=state.name, remedy=remedy)
    flow_run_logger(flow_run, flow).log(logging.ERROR if state.type in _REMEDIES else logging.INFO, text)


def how_to_continue(flow: Flow[..., Any], flow_run: FlowRun) -> str:
    """What continues the run; one without deployment needs to know where its flow is."""
    if flow_run.parent_task_run_id:
        return "retry the run that it is part of"
    command = f"prefect flow-run retry {flow_run.id}"
    if not flow_run.deployment_id:
        command += f" --entrypoint {flow.fn.__module__}.{flow.fn.__name__}"
    return f"use *Retry* in the UI, `{command}`, or start the same run again"
