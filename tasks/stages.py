"""Prefect tasks: a task per stage, which reuses the stage's artifact or computes it, and steps of other flows."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypeVar, cast

from prefect import Task, task
from prefect.blocks.system import Secret
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError, concurrency
from prefect.states import Completed

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import ExecutionError, GenerationError, error_message
from bigcodeflow.generation import provider_and_model
from bigcodeflow.generation.providers import key_variables, secret_block
from bigcodeflow.pipeline.concurrent_stages import ALONE, ConcurrentStages, StageLocks
from bigcodeflow.pipeline.live import LiveRun
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.runs import Refs, whole_run
from bigcodeflow.pipeline.stages import STAGES, RunArtifacts, Stage, perform, stage_of
from bigcodeflow.store import ArtifactRef, Store
from tasks.progress import RunListener

T = TypeVar("T")
#: Pauses between attempts to get a slot from a server that fails.
_PAUSES_SECONDS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
logger = logging.getLogger("bigcodeflow.tasks")


def worth_another_try(_task: Task[..., Any], _task_run: TaskRun, state: State[Any]) -> bool:
    """Return True if a failed task should be repeated: only after ExecutionErrors; users must correct other errors."""
    return isinstance(state.data, ExecutionError)


#: Prefect caches nothing: a cached reference may name an artifact that is gone, damaged, provisional, or in another
#: store. Only the store knows which artifacts are valid.
as_task: Callable[..., Any] = partial(
    task,
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=1,
    retry_delay_seconds=5.0,
    retry_condition_fn=worth_another_try,
)


def perform_stage(stage: Stage, store: Store, live: LiveRun | None = None) -> State[ArtifactRef]:
    """Perform a stage; return its task's final state, which holds the artifact: Cached if reused, else Completed."""
    listener = RunListener(store=store.location)
    ref = perform(stage, store, live.watched(listener) if live else listener)
    return Completed(data=ref, name="Cached" if listener.reused else "Completed")


#: Names of the task runs of each stage, for the list of runs.
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


def _stage_task(name: str) -> Task[..., State[ArtifactRef]]:
    def body(
        run: ResolvedRun, refs: Refs, concurrent: ConcurrentStages = ALONE, live: LiveRun | None = None
    ) -> State[ArtifactRef]:
        limit = run.config.generation.requests.shared_limit
        shared_limit = partial(_slot, limit) if limit else None
        stage = stage_of(name, run, refs, shared_limit=shared_limit, concurrent=concurrent)
        return perform_stage(stage, run.store, live)

    def run_name(*, parameters: dict[str, Any]) -> str:
        config = parameters["run"].config
        return _RUN_NAMES[name].format(config=config, title=run_title(config))

    body.__qualname__ = name  # Prefect distinguishes the tasks of a run by it
    decorate = as_task(name=STAGES[name].title, task_run_name=run_name)
    return cast("Task[..., State[ArtifactRef]]", decorate(body))


#: The task of each stage, by the fields of RunArtifacts.
STAGE_TASKS: Mapping[str, Task[..., State[ArtifactRef]]] = {name: _stage_task(name) for name in STAGES}


def perform_tasks(run: ResolvedRun, stage_locks: StageLocks, live: LiveRun) -> RunArtifacts:
    """Run the Prefect task of every stage and round; execute ground truths and new answers while a model answers."""
    take_secret(run.config)

    def obtain(name: str, refs: Refs, concurrent: ConcurrentStages = ALONE) -> ArtifactRef:
        with stage_locks.held(name, run):
            ref: ArtifactRef = STAGE_TASKS[name](run, dict(refs), concurrent, live, return_state=True).result()
        return ref

    return whole_run(run, obtain)


def take_secret(config: RunConfig) -> None:
    """Set the model's API key variable from the Prefect Secret block of that name, if no such variable is set."""
    settings = config.generation
    if config.samples.source != "model":
        return
    name, _ = provider_and_model(settings)
    variables = key_variables(name, variable=settings.api_key_variable, base_url=settings.base_url)
    if any(os.environ.get(variable) for variable in variables):
        return
    for variable in variables:
        try:
            secret: Any = Secret.load(secret_block(variable))
        except ValueError:  # no such block
            continue
        os.environ[variable] = str(secret.get())
        return


def perform_step(title: str, action: Callable[[], T]) -> T:
    """Perform an action as a Prefect task with the same options as the stages' tasks; return the action's result."""

    def perform_step() -> T:
        return action()

    return cast("T", as_task(name=title, task_run_name=title)(perform_step)())


@asynccontextmanager
async def _slot(name: str) -> AsyncIterator[None]:
    """Hold a slot of Prefect's concurrency limit ``name``, which all runs share; retry if the server fails.

    Raises:
        GenerationError: the server has no such limit, or gives no slot (a place for a request) after all retries.
    """
    held = AsyncExitStack()
    for pause_seconds in (*_PAUSES_SECONDS, None):
        limit = concurrency(name, occupy=1, strict=True, raise_on_lease_renewal_failure=False)
        try:
            await held.enter_async_context(limit)
            break
        except ConcurrencySlotAcquisitionError as error:
            named = f"generation.requests.shared_limit: Prefect's limit {name!r} gives no slot ({error_message(error)})"
            if error.__cause__ is None:  # the server has no such limit
                remedy = f"make it with `prefect gcl create {name} --limit N`, or leave the setting empty"
                raise GenerationError(f"{named}: {remedy}") from None
            if pause_seconds is None:
                raise GenerationError(f"{named}: check the Prefect server, and run the same again") from None
            await asyncio.sleep(pause_seconds)
    try:
        yield
    finally:
        try:
            await held.aclose()
        except Exception as error:  # noqa: BLE001 - the answer is there; a slot is free again when its lease ends
            logger.warning("shared limit %s: a slot stays taken until its lease ends (%s)", name, error_message(error))
