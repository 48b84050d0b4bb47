"""Common parts of all flows: failing with a message, naming runs, and saying how to continue an unfinished run."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from coolname.data import config as coolname_lists
from prefect import Flow, flow, runtime
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.context import FlowRunContext
from prefect.logging.loggers import flow_run_logger
from prefect.states import Failed

import bigcodeflow
from bigcodeflow.config import RunConfig
from bigcodeflow.core.env_file import take_env_file
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.pipeline.interruption import quiet_interruption

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M")
S = TypeVar("S", bound=SettingsModel)

#: Number of words in a name that Prefect's server and clients generate.
_WORDS = 2
_LETTERS = (
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho|sigma|tau|upsilon|phi|chi"
    "|psi|omega"
)
#: Names that Prefect's UI generates in its form, such as kappa747-talos-reach.
_MADE_UP = re.compile(rf"({_LETTERS})\d+-[a-z]*(-[a-z]+)*")
#: Generated names of the UI and its second version that a user may also have typed: chi-nimbus, Rustic-Bat.
_MAY_BE_MADE_UP = re.compile(rf"({_LETTERS})-[a-z]+(-[a-z]+)*|[A-Z][a-z]+(-[A-Z][a-z]+)+")

#: Log text for an unfinished run by the type of its last state; any other type means cancelled.
_REMEDIES = {
    StateType.FAILED: "{message}\nTo continue after that is fixed, {remedy}",
    StateType.CRASHED: "{state}: the process ended before the run was finished. To continue, {remedy}",
}
_CANCELLED = "Cancelled: sandboxes, workers and requests are stopped. To continue, {remedy}"


def failing_with_message(body: Callable[P, R]) -> Callable[P, R]:
    """Wrap a flow's body: a BigCodeFlowError fails the run with its message, and Prefect raises it in the caller."""

    @wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            take_env_file()
            with quiet_interruption():
                return body(*args, **kwargs)
        except BigCodeFlowError as error:
            # If it were raised here, a traceback would hide the line that says what to do.
            return Failed(message=str(error), data=error.with_traceback(None))  # type: ignore[return-value]

    return run


def by_config(model: type[S], title: Callable[[S], str]) -> Callable[[], str]:
    """Return a function that names a flow run ``title(config)``, unless a user has named it."""
    return by_parameters(lambda config, **_: model.model_validate(config), title)


def by_parameters(made: Callable[..., M], title: Callable[[M], str]) -> Callable[[], str]:
    """Return a function that names a flow run ``title(made(**parameters))``, unless a user has named it.

    If the old name may be a user's or may be Prefect's, the name is kept in brackets after the title. If parameters are
    invalid, the name is unchanged: the run itself reports the mistakes.
    """

    def name() -> str:
        given: str = runtime.flow_run.name
        words = given.split("-")
        made_up = _MADE_UP.fullmatch(given) or (len(words) == _WORDS and _word_list().issuperset(words))
        if not made_up and not _MAY_BE_MADE_UP.fullmatch(given):
            return given
        try:
            found = title(made(**runtime.flow_run.parameters))
        except BigCodeFlowError:
            return given
        return found if made_up else f"{found} ({given})"

    return name


@cache
def _word_list() -> frozenset[str]:
    """Return all words that Prefect's server and clients use in generated names."""
    parts = cast("Iterable[Mapping[str, Any]]", coolname_lists.values())
    return frozenset(word for part in parts for word in part.get("words", ()))


def current_run() -> FlowRun | None:
    """Return the flow run that this thread works for; None outside a flow run."""
    context = FlowRunContext.get()
    return context.flow_run if context else None


def tag_run(config: RunConfig, preset: str) -> None:
    """Add search tags to the flow run: model or source of the samples, split, subset and preset."""
    run = current_run()
    if run is None:
        return
    asked = config.samples.source == "model"
    found = {
        "model": config.generation.model if asked else "",
        "samples": "" if asked else Path(config.samples.source).name,
        "split": config.dataset.split,
        "subset": config.dataset.subset,
        "preset": Path(preset).stem,
    }
    tags = {f"{name}={value}" for name, value in found.items() if value}
    with get_client(sync_client=True) as client:
        client.update_flow_run(run.id, tags={*run.tags, *tags})


class _WithoutTraceback(logging.Filter):
    """Log filter that removes the traceback of errors that a user can correct; the message is enough."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], BigCodeFlowError):
            record.exc_info = record.exc_text = None
            # Drop Prefect's generic line for errors that leave a flow: the message is already logged.
            return not record.getMessage().startswith("Engine execution")
        return True


#: Loggers of flow runs, of task runs, and of the process that a worker starts for a run.
_RUN_LOGGERS = ("prefect.flow_runs", "prefect.task_runs", "prefect.engine")
_without_traceback = _WithoutTraceback()


def reporting_flow(
    name: str, *, flow_run_name: Callable[[], str] | None = None
) -> Callable[[Callable[P, R]], Flow[P, R]]:
    """Return a decorator for flows that fail with just a BigCodeFlowError's message and log how to continue the run."""
    for logger in map(logging.getLogger, _RUN_LOGGERS):
        logger.addFilter(_without_traceback)

    def decorate(body: Callable[P, R]) -> Flow[P, R]:
        decorated: Flow[P, R] = flow(
            name=name,
            flow_run_name=flow_run_name,
            version=bigcodeflow.__version__,
            persist_result=False,  # unused: a remembered artifact may no longer be in the store
            on_failure=[log_remedy],
            on_crashed=[log_remedy],
            on_cancellation=[log_remedy],
        )(failing_with_message(body))
        return decorated

    return decorate


def log_remedy(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Log how to continue a run that failed, crashed or was cancelled; a state hook of Prefect."""
    remedy = f"{how_to_continue(flow, flow_run)}: finished stages and finished samples are reused."
    text = _REMEDIES.get(state.type, _CANCELLED).format(state=state.name, message=state.message, remedy=remedy)
    flow_run_logger(flow_run, flow).log(logging.ERROR if state.type in _REMEDIES else logging.INFO, text)


def how_to_continue(flow: Flow[..., Any], flow_run: FlowRun) -> str:
    """Return a text on how to continue the run; without a deployment, its command names the flow's entrypoint."""
    if flow_run.parent_task_run_id:
        return "retry the run that it is part of"
    command = f"prefect flow-run retry {flow_run.id}"
    if not flow_run.deployment_id:  # the UI offers no Retry for it
        return f"use `{command} --entrypoint {flow.fn.__module__}.{flow.fn.__name__}`, or start the same run again"
    return f"use *Retry* in the UI, `{command}`, or start the same run again"
