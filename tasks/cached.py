"""What the tasks of all stages have in common: they take their artifact from the store, or make it there."""

from collections.abc import Callable
from typing import Any, TypedDict

from prefect import Task
from prefect.cache_policies import NO_CACHE, CachePolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Completed

from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import Stage, perform
from bigcodeflow.store import ArtifactRef, open_store
from tasks.progress import RunListener

_RETRY_DELAY_SECONDS = 5.0


class StageOptions(TypedDict):
    """Settings of a stage's task, to be spread into ``@task``."""

    cache_policy: CachePolicy
    persist_result: bool
    retries: int
    retry_delay_seconds: float
    retry_condition_fn: Callable[[Task[..., Any], TaskRun, State[Any]], bool]


def worth_another_try(_task: Task[..., Any], _task_run: TaskRun, state: State[Any]) -> bool:
    """Whether a failed task may succeed unchanged: an ExecutionError may, what a user has to mend cannot."""
    return isinstance(state.data, ExecutionError)


#: Prefect caches nothing: a reference that it remembers may name an artifact that is gone, damaged, provisional, or in
#: another store, and would score what is not there. The store alone knows.
STAGE_OPTIONS = StageOptions(
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=1,
    retry_delay_seconds=_RETRY_DELAY_SECONDS,
    retry_condition_fn=worth_another_try,
)


def perform_stage(stage: Stage, run: ResolvedRun) -> State[ArtifactRef]:
    """The final state of a stage's task, with its artifact; named Cached where the store held that already.

    Raises:
        BigCodeFlowError: what the stage raised.
    """
    listener = RunListener()
    ref = perform(stage, open_store(run.config.store), listener)
    return Completed(data=ref, name="Cached" if listener.reused else "Completed")


def artifact_of(task: Task[..., State[ArtifactRef]], run: ResolvedRun, *inputs: ArtifactRef) -> ArtifactRef:
    """Run a stage's task and return its artifact.

    Raises:
        BigCodeFlowError: what the stage raised.
    """
    ref: ArtifactRef = task(run, *inputs, return_state=True).result()
    return ref
