"""Whole runs: their stages one after the other, and beside one another while a model answers.

Keys are known before artifacts are, so that the execution stage can begin before its input is there: it is handed the
solutions as they come, and reads the whole table in the end.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import copy_context
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Protocol

from bigcodeflow import sanitizing
from bigcodeflow.config import RunConfig
from bigcodeflow.config.reads import READS, view
from bigcodeflow.core.errors import error_message
from bigcodeflow.pipeline.beside import Beside, StoppedError
from bigcodeflow.pipeline.live import live_run
from bigcodeflow.pipeline.resolution import ResolvedRun, Resolver
from bigcodeflow.pipeline.rounds import further_rounds
from bigcodeflow.pipeline.stages import (
    Listener,
    RunArtifacts,
    each_stage,
    finished_artifact,
    perform,
    stage_of,
)
from bigcodeflow.store import ArtifactRef, Store, open_store

if TYPE_CHECKING:
    import pyarrow as pa

    from bigcodeflow.execution.workers import Workers

logger = logging.getLogger(__name__)

Refs = Mapping[str, ArtifactRef]

_SECONDS_BETWEEN_LOOKS = 1.0
#: How long an execution that is told to stop may take to close its cluster.
_STOP_SECONDS = 30.0
#: Stages that need an environment, or what was executed in one.
_EXECUTED = ("ground_truth", "execution", "aggregation")
#: Share of a core that looking for new answers may take.
_SHARE_OF_CORE = 0.05


def perform_all(config: RunConfig, listener: Listener) -> RunArtifacts:
    """Every stage and every round, in this process and without Prefect."""
    run = Resolver()(config)
    with _obtaining(run, listener) as obtain:
        return whole_run(run, obtain)


def perform_up_to(target: str, config: RunConfig, listener: Listener) -> dict[str, ArtifactRef]:
    """A stage and all that it is made from, in this process and without Prefect: their artifacts by stage."""
    resolver = Resolver()
    run = resolver(config) if target in _EXECUTED else resolver.up_to_sanitizing(config)
    with _obtaining(run, listener) as obtain:
        return overlapped(run, obtain, target)


@contextmanager
def _obtaining(run: ResolvedRun, listener: Listener) -> "Iterator[Obtain]":
    store = open_store(run.config.store)
    with live_run(run.config) as live:
        watched = live.watched(listener)

        def obtain(name: str, refs: Refs, beside: Beside | None = None) -> ArtifactRef:
            return perform(stage_of(name, run, refs, beside=beside), store, watched)

        yield obtain


class Obtain(Protocol):
    """Gives the artifact of a stage, by its name and the artifacts of those before it."""

    def __call__(self, name: str, refs: Refs, beside: Beside | None = None) -> ArtifactRef: ...


class Turns:
    """Of several runs at once, one asks its model and one executes at a time: each does so as fast as it may."""

    def __init__(self) -> None:
        asking, executing = threading.Lock(), threading.Lock()
        self._locks = {"generation": asking, "repair": asking, "ground_truth": executing, "execution": executing}
        self._stopped = threading.Event()

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """To be held while a stage is obtained."""
        with self._locks.get(stage, nullcontext()):
            self.check()
            yield

    def stop(self) -> None:
        """Have the runs end: each with its next report, or when its turn comes."""
        self._stopped.set()

    def check(self) -> None:
        """Raise StoppedError once the runs are to end."""
        if self._stopped.is_set():
            raise StoppedError("stopped: what it did so far is kept, run the same again")


def whole_run(run: ResolvedRun, obtain: Obtain) -> RunArtifacts:
    """Every stage, and then what failed again, in as many rounds as the settings say."""
    first, rounds = overlapped(run, obtain), run.config.generation.rounds
    if rounds > 1 and run.config.samples.source != "model":
        source = run.config.samples.source
        logger.warning(
            "generation.rounds %s: samples.source %s asks no model, so that there is one round", rounds, source
        )
    with ExitStack() as held:
        beside = Beside(threading.Event(), workers=cache(lambda: held.enter_context(_workers(run))))
        further = further_rounds(run.config, first, lambda name, refs: obtain(name, refs, beside))
    return RunArtifacts.of(first, further)


def overlapped(run: ResolvedRun, obtain: Obtain, target: str = "aggregation") -> dict[str, ArtifactRef]:
    """As `each_stage`, with one set of workers for all that is executed.

    Where a model has to answer, ground truths and samples are executed meanwhile, in a thread.
    """
    given = each_stage(obtain, target="dataset")
    if target not in ("execution", "aggregation"):
        return each_stage(obtain, target=target, given=given)
    store, planned = open_store(run.config.store), _planned(run, given)
    stopped, answered = threading.Event(), threading.Event()

    def judge(refs: Refs, arriving: "Iterator[pa.Table | None]") -> dict[str, ArtifactRef]:
        with ExitStack() as held:
            beside = Beside(stopped, workers=cache(lambda: held.enter_context(_workers(run))))
            truths = {"ground_truth": obtain("ground_truth", refs, beside)}
            return truths | {"execution": obtain("execution", {**refs, **truths}, replace(beside, arriving=arriving))}

    if run.config.samples.source != "model" or _is_there(run, store, planned):
        given |= each_stage(obtain, target="sanitizing", given=given)
        return each_stage(obtain, target=target, given=given | judge(given, iter(())))
    judging = _in_thread(lambda: judge(planned, _arriving(run, store, planned["dataset"], answered)))
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


def _workers(run: ResolvedRun) -> "Workers":
    """What both stages that execute have in common."""
    from bigcodeflow.execution.workers import Workers  # a run whose stages are cached does without

    return Workers(view(run.config, READS["ground truth"].paths).execution, run.contents["environment"].value)


def _planned(run: ResolvedRun, given: Refs) -> dict[str, ArtifactRef]:
    """Artifacts of the stages that make solutions, as far as they are known before they are there: by their keys."""

    def plan(name: str, refs: Refs) -> ArtifactRef:
        stage = stage_of(name, run, refs)
        return ArtifactRef(stage=stage.folder, key=stage.key, rows=0, sha256="")

    return each_stage(plan, target="sanitizing", given=given)


def _is_there(run: ResolvedRun, store: Store, planned: Refs) -> bool:
    """Whether no model has to be asked, so that nothing would overlap."""
    return finished_artifact(stage_of("generation", run, planned), store) is not None


def _in_thread(work: Callable[[], dict[str, ArtifactRef]]) -> "Future[dict[str, ArtifactRef]]":
    """Work in a thread that the end of this process does not wait for, with the context of this one."""
    done: Future[dict[str, ArtifactRef]] = Future()

    def perform() -> None:
        try:
            done.set_result(work())
        except StoppedError as error:
            done.set_exception(error)
        except BaseException as error:  # noqa: BLE001 -- it is raised in the thread that asks for the result
            logger.warning("%s; meanwhile the model is asked on", error_message(error))
            done.set_exception(error)

    threading.Thread(target=copy_context().run, args=[perform], name="judge", daemon=True).start()
    return done


def _arriving(
    run: ResolvedRun, store: Store, dataset: ArtifactRef, answered: threading.Event
) -> "Iterator[pa.Table | None]":
    """Solutions in new answers as they come, until all are there; None where there are none."""
    from bigcodeflow.generation.model_samples import AnswersSoFar  # imports the providers' HTTP client

    config, tasks = run.config, store.read(dataset)
    folder = store.root / "answers"
    answers = AnswersSoFar(config.generation, tasks.to_pylist(), config.dataset.split, answers_folder=folder)
    look_at = 0.0
    while not answered.is_set():
        if time.monotonic() < look_at:
            yield None
            continue
        began = time.monotonic()
        new = answers.new()
        solutions = sanitizing.sanitize_samples(new, tasks, config.sanitizing) if new.num_rows else None
        pause_seconds = max(_SECONDS_BETWEEN_LOOKS, (time.monotonic() - began) / _SHARE_OF_CORE)
        look_at = time.monotonic() + pause_seconds
        yield solutions
