"""Prefect's tasks: one a stage, which takes its artifact from the store or makes it there, and steps of other flows."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypedDict, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE, CachePolicy
from prefect.client.schemas.objects import State, TaskRun
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError, concurrency
from prefect.states import Completed

from bigcodeflow.core.errors import ExecutionError, GenerationError
from bigcodeflow.pipeline.outputs import run_title
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import RunArtifacts, Stage, each_stage, perform, stage_of
from bigcodeflow.store import ArtifactRef, open_store
from tasks.progress import RunListener

T = TypeVar("T")
Refs = Mapping[str, ArtifactRef]
"""Artifacts of the stages before one, by stage."""

_RETRY_DELAY_SECONDS = 5.0


class TaskOptions(TypedDict):
    """Settings of every task, to be spread into ``@task``."""

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
TASK_OPTIONS = TaskOptions(
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


def _named(text: str) -> Callable[..., str]:
    """Names a stage's task runs by what people look for in a list of runs, such as its model, split and subset."""

    def name(*, parameters: dict[str, Any]) -> str:
        config = parameters["run"].config
        return text.format(config=config, title=run_title(config))

    return name


@task(
    name="dataset",
    task_run_name=_named("dataset: {config.dataset.source}, {config.dataset.split}, {config.dataset.subset}"),
    **TASK_OPTIONS,
)
def load_dataset(run: ResolvedRun, refs: Refs) -> State[ArtifactRef]:
    """Tasks that are judged."""
    return perform_stage(stage_of("dataset", run, refs), run)


@task(name="generation", task_run_name=_named("generation: {title}"), **TASK_OPTIONS)
def generate_samples(run: ResolvedRun, refs: Refs) -> State[ArtifactRef]:
    """Answers to the tasks: a model's, recorded ones or controls."""
    name = run.config.generation.requests.shared_limit
    return perform_stage(stage_of("generation", run, refs, shared_limit=partial(_slot, name) if name else None), run)


@task(name="sanitizing", task_run_name=_named("sanitizing: {title} ({config.sanitizing.mode})"), **TASK_OPTIONS)
def sanitize_samples(run: ResolvedRun, refs: Refs) -> State[ArtifactRef]:
    """The program in each answer."""
    return perform_stage(stage_of("sanitizing", run, refs), run)


@task(
    name="ground truth",
    task_run_name=_named(
        "ground truth: {config.dataset.source}, {config.dataset.subset} (in {config.execution.environment})"
    ),
    **TASK_OPTIONS,
)
def execute_ground_truths(run: ResolvedRun, refs: Refs) -> State[ArtifactRef]:
    """Verdicts of the canonical solutions."""
    return perform_stage(stage_of("ground_truth", run, refs), run)


@task(name="execution", task_run_name=_named("execution: {title} (in {config.execution.environment})"), **TASK_OPTIONS)
def execute_solutions(run: ResolvedRun, refs: Refs) -> State[ArtifactRef]:
    """Verdicts of the samples."""
    return perform_stage(stage_of("execution", run, refs), run)


@task(name="aggregation", task_run_name=_named("aggregation: {title}"), **TASK_OPTIONS)
def aggregate_verdicts(run: ResolvedRun, refs: Refs) -> State[ArtifactRef]:
    """Scores with their intervals."""
    return perform_stage(stage_of("aggregation", run, refs), run)


_TASKS: Mapping[str, Task[..., State[ArtifactRef]]] = {
    "dataset": load_dataset,
    "generation": generate_samples,
    "sanitizing": sanitize_samples,
    "ground_truth": execute_ground_truths,
    "execution": execute_solutions,
    "aggregation": aggregate_verdicts,
}


def perform_tasks(run: ResolvedRun) -> RunArtifacts:
    """Every stage's task, one after the other: ground truths before samples, since both take all cores.

    Raises:
        BigCodeFlowError: what a stage raised.
    """

    def obtain(name: str, refs: Refs) -> ArtifactRef:
        ref: ArtifactRef = _TASKS[name](run, dict(refs), return_state=True).result()
        return ref

    return RunArtifacts(**each_stage(obtain))


@task(**TASK_OPTIONS)
def _perform_step(action: Callable[[], T]) -> T:
    return action()


def perform_step(title: str, action: Callable[[], T]) -> T:
    """What an action returns, performed as a task of its own, with the options of a stage's.

    Raises:
        BigCodeFlowError: what the action raised.
    """
    return _perform_step.with_options(name=title, task_run_name=title)(action)


@asynccontextmanager
async def _slot(name: str) -> AsyncIterator[None]:
    """One slot of a limit that every run on this Prefect server shares.

    Raises:
        GenerationError: the server has no such limit.
    """
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(concurrency(name, occupy=1, strict=True))
        except ConcurrencySlotAcquisitionError as error:
            raise GenerationError(
                f"generation.requests.shared_limit: {name!r} gives no slot ({' '.join(str(error).split())}): "
                f"make it with `prefect gcl create {name} --limit N`, or leave the setting empty"
            ) from None
        yield
