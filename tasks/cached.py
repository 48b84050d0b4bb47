"""What every stage's task has in common: its cache key, its verified call, and when it is worth another try."""

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypedDict

from prefect import Task
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.logging import get_run_logger

from bigcodeflow.artifacts import ArtifactRef, Store
from bigcodeflow.config import RunConfig
from bigcodeflow.errors import BigCodeFlowError, ExecutionError
from bigcodeflow.stages import Stage, finished_artifact, perform
from tasks.progress import RunListener

P = ParamSpec("P")

_RETRY_DELAY_SECONDS = 5.0


class StageOptions(TypedDict):
    """Settings of a stage's task, to be spread into ``@task``."""

    cache_key_fn: Callable[[TaskRunContext, dict[str, Any]], str | None]
    persist_result: bool
    result_serializer: str
    retries: int
    retry_delay_seconds: float
    retry_condition_fn: Callable[[Task[..., Any], TaskRun, State[Any]], bool]


def stage_options(build: Callable[..., Stage]) -> StageOptions:
    """Options by which a task is cached under its stage's key and retried when the machine, not the user, failed.

    Args:
        build: makes the stage of the task's own parameters, by name.
    """

    def key(_context: TaskRunContext, parameters: dict[str, Any]) -> str | None:
        try:
            return build(**parameters).key
        except BigCodeFlowError:
            return None  # the task's body meets the same error and raises it; here Prefect would log a traceback of it

    return StageOptions(
        cache_key_fn=key,
        persist_result=True,
        result_serializer="json",
        retries=1,
        retry_delay_seconds=_RETRY_DELAY_SECONDS,
        retry_condition_fn=lies_outside_the_samples,
    )


def lies_outside_the_samples(_task: Task[..., Any], _task_run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed task may succeed unchanged: an ExecutionError may, what a user has to mend cannot."""
    return isinstance(state.data, ExecutionError)


def perform_stage(
    build: Callable[Concatenate[RunConfig, P], Stage], config: RunConfig, *args: P.args, **kwargs: P.kwargs
) -> ArtifactRef:
    """Make the stage's artifact in the configured store, or find it there."""
    return perform(build(config, *args, **kwargs), Store(config.store), RunListener())


def verified(
    task: Task[Concatenate[RunConfig, P], ArtifactRef],
    build: Callable[Concatenate[RunConfig, P], Stage],
    config: RunConfig,
    *args: P.args,
    **kwargs: P.kwargs,
) -> ArtifactRef:
    """Run a stage's task, and run it again without Prefect's cache where that knew more than the store holds.

    Prefect remembers references. The artifact behind one may be deleted, damaged, lie in another store, or hold
    samples that are still to be judged; used as it is, it would fail a later stage or score unjudged samples.

    Raises:
        BigCodeFlowError: what the stage raised.
    """
    state = task(config, *args, **kwargs, return_state=True)
    ref = state.result()
    if state.name != "Cached" or finished_artifact(build(config, *args, **kwargs), Store(config.store)) == ref:
        return ref
    get_run_logger().warning(
        "%s: the cached result has no finished, intact artifact in %s; running the stage again", task.name, config.store
    )
    return task.with_options(refresh_cache=True)(config, *args, **kwargs)
