"""Execution of whole runs: stage after stage, or with overlapping stages while a model answers.

The key of an artifact is known before the artifact exists. So the execution stage can begin before its input is
finished: it receives solutions as they arrive, and reads the whole table at the end.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeVar

from bigcodeflow.config import RunConfig
from bigcodeflow.config.reads import READS, view
from bigcodeflow.core.errors import error_message
from bigcodeflow.execution.cluster import start_fork_server
from bigcodeflow.pipeline.concurrent_stages import ALONE, ArrivingTruths, ConcurrentStages, StoppedError
from bigcodeflow.pipeline.live import LiveRun
from bigcodeflow.pipeline.resolution import ResolvedRun, Resolver
from bigcodeflow.pipeline.stages import (
    ROUND_STAGES,
    Listener,
    RoundArtifacts,
    RunArtifacts,
    each_stage,
    finished_artifact,
    perform,
    round_input,
    stage_of,
)
from bigcodeflow.sanitizing.samples import sanitize_samples
from bigcodeflow.store import ArtifactRef

if TYPE_CHECKING:
    import pyarrow as pa

    from bigcodeflow.execution.workers import Workers

logger = logging.getLogger(__name__)

T = TypeVar("T")
Refs = Mapping[str, ArtifactRef]
"""Artifacts of the earlier stages, by stage name."""

_SECONDS_BETWEEN_LOOKS = 1.0
#: Time for a stopping execution to end, after an error and after an interruption by the user.
_STOP_SECONDS, _INTERRUPTED_SECONDS = 30.0, 2.0
#: Stages that need an environment, or results of an execution in it.
_EXECUTED = ("ground_truth", "execution", "aggregation")
#: Share of a core that polling for new answers may use.
_SHARE_OF_CORE = 0.05


def perform_all(run: ResolvedRun, listener: Listener) -> RunArtifacts:
    """Run every stage of every round, in this process and without Prefect; return the artifacts."""
    with _obtaining(run, listener) as obtain:
        return whole_run(run, obtain)


def perform_up_to(target: str, config: RunConfig, listener: Listener) -> dict[str, ArtifactRef]:
    """Run the stage ``target`` and all stages before it, without Prefect; return their artifacts by stage name."""
    resolver = Resolver()
    run = resolver(config) if target in _EXECUTED else resolver.up_to_sanitizing(config)
    with _obtaining(run, listener) as obtain:
        return overlapped(run, obtain, target)


@contextmanager
def _obtaining(run: ResolvedRun, listener: Listener) -> "Iterator[Obtain]":
    with LiveRun(run.config, run.store) as live:
        watched = live.watched(listener)

        def obtain(name: str, refs: Refs, concurrent: ConcurrentStages = ALONE) -> ArtifactRef:
            return perform(stage_of(name, run, refs, concurrent=concurrent), run.store, watched)

        yield obtain


class Obtain(Protocol):
    """Callback that returns the artifact of a stage, given its name and the artifacts of earlier stages."""

    def __call__(self, name: str, refs: Refs, concurrent: ConcurrentStages = ALONE) -> ArtifactRef: ...


def whole_run(run: ResolvedRun, obtain: Obtain) -> RunArtifacts:
    """Run every stage, then ask again for failed samples in the further rounds that the settings specify."""
    first, rounds = overlapped(run, obtain), run.config.generation.rounds
    if rounds > 1 and run.config.samples.source != "model":
        source = run.config.samples.source
        logger.warning(
            "generation.rounds is %s, but samples.source %s asks no model: only round 1 runs", rounds, source
        )
    with _shared_workers(run) as concurrent:
        further = further_rounds(run.config, first, lambda name, refs: obtain(name, refs, concurrent))
    return RunArtifacts.of(first, further)


def further_rounds(
    config: RunConfig, first: Refs, obtain: Callable[[str, Refs], ArtifactRef]
) -> tuple[RoundArtifacts, ...]:
    """Return the artifacts of the rounds after the first, in order; ``obtain`` makes each artifact after its inputs.

    The key of an artifact depends on the keys of all earlier rounds. So a killed run continues after its last finished
    artifact, and a run with more rounds reuses the finished rounds. ``first`` holds the artifacts of round 1, dataset
    and ground truths included. Recorded answers and controls have only round 1.
    """
    found: list[RoundArtifacts] = []
    before = {round_input(stage, 1): first[stage] for stage in ROUND_STAGES}
    count = config.generation.rounds if config.samples.source == "model" else 1
    for number in range(2, count + 1):
        generation = obtain("repair", {"dataset": first["dataset"], **before})
        given = {"dataset": first["dataset"], "ground_truth": first["ground_truth"], "generation": generation}
        refs = each_stage(obtain, target="execution", given=given)
        found.append(RoundArtifacts(*(refs[stage] for stage in ROUND_STAGES)))
        before |= {round_input(stage, number): refs[stage] for stage in ROUND_STAGES}
    return tuple(found)


def planned_run(run: ResolvedRun) -> tuple[RunArtifacts, tuple[str, ...]]:
    """Return the artifacts that a run has or will have, and the titles of its missing stages; compute nothing."""
    missing: list[str] = []

    def find(name: str, refs: Refs) -> ArtifactRef:
        stage = stage_of(name, run, refs)
        ref = finished_artifact(stage, run.store)
        if ref is None:
            missing.append(stage.title)
        return ref or stage.planned

    first = each_stage(find)
    return RunArtifacts.of(first, further_rounds(run.config, first, find)), tuple(missing)


def overlapped(run: ResolvedRun, obtain: Obtain, target: str = "aggregation") -> dict[str, ArtifactRef]:
    """Run the stages up to ``target``, with a single set of workers for all executions; return artifacts by stage name.

    Unlike `each_stage`, it executes ground truths and samples at the same time, also while a model answers.
    """
    if target not in ("execution", "aggregation"):
        return each_stage(obtain, target=target)
    execution = each_stage(lambda name, refs: stage_of(name, run, refs).planned, target="execution")["execution"]
    if run.store.find("execution", execution.key) is None:
        start_fork_server(run.config.execution)
    given = each_stage(obtain, target="dataset")
    planned = each_stage(lambda name, refs: stage_of(name, run, refs).planned, target="sanitizing", given=given)
    stopped, answered = threading.Event(), threading.Event()
    asks = run.config.samples.source == "model"
    if not asks or finished_artifact(stage_of("generation", run, planned), run.store):  # nothing would overlap
        given |= each_stage(obtain, target="sanitizing", given=given)
        with _shared_workers(run, stopped) as concurrent:
            given |= _judged(run, obtain, given, concurrent)
        return each_stage(obtain, target=target, given=given)
    arriving = _arriving(run, planned["dataset"], answered)
    count = planned["dataset"].rows * run.config.generation.n_samples

    def judge() -> dict[str, ArtifactRef]:
        with _shared_workers(run, stopped) as shared:
            return _judged(run, obtain, planned, replace(shared, arriving=arriving, expected_solutions=count))

    judging = _in_thread(judge, "judge", "execution failed, but the model is asked for the remaining answers first: %s")
    try:
        given |= each_stage(obtain, target="sanitizing", given=given)
    except BaseException as error:
        stopped.set()
        if isinstance(error, Exception):  # a user who interrupts does not wait
            wait([judging], _STOP_SECONDS)
        raise
    finally:
        answered.set()
    return each_stage(obtain, target=target, given=given | judging.result())


def _judged(run: ResolvedRun, obtain: Obtain, refs: Refs, concurrent: ConcurrentStages) -> dict[str, ArtifactRef]:
    """Execute ground truths and samples at the same time; return their artifacts by stage."""
    stage = stage_of("ground_truth", run, refs)
    if finished_artifact(stage, run.store):
        truths = {"ground_truth": obtain("ground_truth", refs, concurrent)}
        return truths | {"execution": obtain("execution", {**refs, **truths}, concurrent)}
    arriving = ArrivingTruths()
    beside = replace(concurrent, truths=arriving)

    def execute_truths() -> ArtifactRef:
        try:
            return obtain("ground_truth", refs, beside)
        except BaseException:
            concurrent.stopped.set()
            raise
        finally:
            arriving.end()

    executing = _in_thread(execute_truths, "ground truths")
    try:
        execution = obtain("execution", {**refs, "ground_truth": stage.planned}, beside)
    except BaseException as error:
        concurrent.stopped.set()
        wait([executing], _STOP_SECONDS if isinstance(error, Exception) else _INTERRUPTED_SECONDS)
        if isinstance(error, StoppedError) and executing.done():
            executing.result()  # raises the error that stopped the samples
        raise
    return {"ground_truth": executing.result(), "execution": execution}


@contextmanager
def _shared_workers(run: ResolvedRun, stopped: threading.Event | None = None) -> Iterator[ConcurrentStages]:
    """Yield the data that executing stages share: a set of workers, started at first use, and the event ``stopped``."""
    with ExitStack() as held:

        @cache
        def workers() -> "Workers":
            from bigcodeflow.execution.workers import Workers  # not needed by a run whose stages are cached

            execution = view(run.config, READS["ground truth"].paths).execution
            return held.enter_context(Workers(execution, run.contents["environment"].value))

        yield ConcurrentStages(stopped or threading.Event(), workers=workers)


def _in_thread(work: Callable[[], T], name: str, warning: str = "") -> "Future[T]":
    """Call ``work`` in a daemon thread, with a copy of this thread's context; return a future of its result.

    If ``work`` fails and ``warning`` is not empty, log the error with this format string.
    """
    done: Future[T] = Future()

    def perform() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 -- it is raised in the thread that asks for the result
            if warning and not isinstance(error, StoppedError):
                logger.warning(warning, error_message(error))
            done.set_exception(error)

    threading.Thread(target=copy_context().run, args=[perform], name=name, daemon=True).start()
    return done


def _arriving(run: ResolvedRun, dataset: ArtifactRef, answered: threading.Event) -> "Iterator[pa.Table | None]":
    """Yield a table with the solutions of new answers, or None if no answer is new, until ``answered`` is set."""
    from bigcodeflow.generation.model_samples import AnswersSoFar  # imports the providers' HTTP client

    config, tasks = run.config, run.store.read(dataset)
    folder = run.store.root / "answers"
    answers = AnswersSoFar(config.generation, tasks.to_pylist(), config.dataset.split, answers_folder=folder)
    look_at = 0.0
    while not answered.is_set():
        if time.monotonic() < look_at:
            yield None
            continue
        began = time.monotonic()
        new = answers.new()
        solutions = sanitize_samples(new, tasks, config.sanitizing) if new.num_rows else None
        pause_seconds = max(_SECONDS_BETWEEN_LOOKS, (time.monotonic() - began) / _SHARE_OF_CORE)
        look_at = time.monotonic() + pause_seconds
        yield solutions
