"""Prefect's tasks: one a stage, which takes its artifact from the store or makes it there, and steps of other flows."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypedDict, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE, CachePolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError, concurrency
from prefect.states import Completed

from bigcodeflow.core.errors import ExecutionError, GenerationError, error_message
from bigcodeflow.pipeline.beside import Beside
from bigcodeflow.pipeline.live import LiveRun
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.runs import Turns, whole_run
from bigcodeflow.pipeline.stages import STAGES, RunArtifacts, Stage, perform, stage_of
from bigcodeflow.store import ArtifactRef, open_store
from tasks.keys import take_secret
from tasks.progress import RunListener

T = TypeVar("T")
#: Between attempts to get a slot of a server that fails.
_PAUSES_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
logger = logging.getLogger("bigcodeflow.tasks")
Refs = Mapping[str, ArtifactRef]
"""Artifacts of the stages before one, by stage."""


class TaskOptions(TypedDict):
    """Settings of every task, to be spread into ``@task``."""

    cache_policy: CachePolicy
    persist_result: bool
    retries: int
    retry_delay_seconds: float
    retry_condition_fn: Callable[[Task[..., Any], TaskRun, State[Any]], bool]


def worth_another_try(_task: Task[..., Any], _task_run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed task may succeed unchanged: an ExecutionError may, what a user has to correct cannot."""
    return isinstance(state.data, ExecutionError)


#: Prefect caches nothing: a reference that it remembers may name an artifact that is gone, damaged, provisional, or in
#: another store, and would score what is not there. The store alone knows.
TASK_OPTIONS = TaskOptions(
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=1,
    retry_delay_seconds=5.0,
    retry_condition_fn=worth_another_try,
)


def perform_stage(stage: Stage, run: ResolvedRun, live: LiveRun | None = None) -> State[ArtifactRef]:
    """The final state of a stage's task, with its artifact; named Cached where the store held that already."""
    listener = RunListener(store=run.config.store)
    ref = perform(stage, open_store(run.config.store), live.watched(listener) if live else listener)
    return Completed(data=ref, name="Cached" if listener.reused else "Completed")


#: What the task runs of each stage are called: what people look for in a list of runs.
_RUN_NAMES = {
    "dataset": "dataset: {config.dataset.source}, {config.dataset.split}, {config.dataset.subset}",
    "generation": "generation: {title}",
    "sanitizing": "sanitizing: {title} ({config.sanitizing.mode})",
    "ground_truth": (
        "ground truth: {config.dataset.source}, {config.dataset.subset} (in {config.execution.environment})"
    ),
    "execution": "execution: {title} (in {config.execution.environment})",
    "aggregation": "aggregation: {title}",
    "repair": "repair: {title} (feedback {config.generation.feedback})",
}


def _run_name(text: str) -> Callable[..., str]:
    def name(*, parameters: dict[str, Any]) -> str:
        config = parameters["run"].config
        return text.format(config=config, title=run_title(config))

    return name


def _stage_task(name: str) -> Task[..., State[ArtifactRef]]:
    def body(
        run: ResolvedRun, refs: Refs, beside: Beside | None = None, live: LiveRun | None = None
    ) -> State[ArtifactRef]:
        limit = run.config.generation.requests.shared_limit
        shared_limit = partial(_slot, limit) if limit else None
        return perform_stage(stage_of(name, run, refs, shared_limit=shared_limit, beside=beside), run, live)

    body.__qualname__ = name  # by which Prefect tells the tasks of a run apart
    return task(name=STAGES[name].title, task_run_name=_run_name(_RUN_NAMES[name]), **TASK_OPTIONS)(body)


#: The task of each stage, by the fields of RunArtifacts.
STAGE_TASKS: Mapping[str, Task[..., State[ArtifactRef]]] = {name: _stage_task(name) for name in STAGES}


def perform_tasks(run: ResolvedRun, turns: Turns, live: LiveRun | None = None) -> RunArtifacts:
    """Every stage's task, also of further rounds; while a model answers, ground truths and what came are executed."""
    take_secret(run.config)

    def obtain(name: str, refs: Refs, beside: Beside | None = None) -> ArtifactRef:
        with turns.of(name):
            ref: ArtifactRef = STAGE_TASKS[name](run, dict(refs), beside, live, return_state=True).result()
        return ref

    return whole_run(run, obtain)


@task(**TASK_OPTIONS)
def _perform_step(action: Callable[[], T]) -> T:
    return action()


def perform_step(title: str, action: Callable[[], T]) -> T:
    """What an action returns, performed as a task of its own, with the options of a stage's."""
    return _perform_step.with_options(name=title, task_run_name=title)(action)


@asynccontextmanager
async def _slot(name: str) -> AsyncIterator[None]:
    """One slot of a limit that every run on this Prefect server shares; a server that fails is asked again.

    Raises:
        GenerationError: the server has no such limit, or gives none for long.
    """
    held = AsyncExitStack()
    for pause_seconds in (*_PAUSES_SECONDS, None):
        limit = concurrency(name, occupy=1, strict=True, raise_on_lease_renewal_failure=False)
        try:
            await held.enter_async_context(limit)
            break
        except ConcurrencySlotAcquisitionError as error:
            named = f"generation.requests.shared_limit: {name!r} gives no slot ({error_message(error)})"
            if error.__cause__ is None:  # it was looked for, and is not there
                remedy = f"make it with `prefect gcl create {name} --limit N`, or leave the setting empty"
                raise GenerationError(f"{named}: {remedy}") from None
            if pause_seconds is None:
                raise GenerationError(f"{named}: see to the Prefect server, and run again") from None
            await asyncio.sleep(pause_seconds)
    try:
        yield
    finally:
        try:
            await held.aclose()
        except Exception as error:  # noqa: BLE001 - the answer is there; a slot is free again when its lease ends
            logger.warning("a slot of %s was not given back: %s", name, error_message(error))
