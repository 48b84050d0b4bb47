"""The stages of a run, each as a key and a computation; Prefect's tasks and `bigcodeflow evaluate` perform these.

dataset → generation → sanitizing → execution → aggregation, with the ground truths executed beside the samples.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa

from bigcodeflow import datasets, generation, sanitizing
from bigcodeflow.config import RunConfig
from bigcodeflow.config.reads import READS, identity_settings, view
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.pipeline.resolution import ResolvedRun, Resolver, resolve
from bigcodeflow.store import ArtifactRef, LogFiles, Store, artifact_key, open_store

if TYPE_CHECKING:
    from bigcodeflow.execution.evaluation import Checking, Planned
    from bigcodeflow.execution.verdicts import RerunPolicy
    from bigcodeflow.generation.engine import SharedLimit

logger = logging.getLogger(__name__)


class Progress(Protocol):
    """Called as often as a stage likes."""

    def __call__(self, finished: int, total: int, note: str = "") -> None:
        """Say how many units are finished, of how many, and in a few words how it goes."""


Computed = tuple[pa.Table, Mapping[str, Any]]


class Listener(Protocol):
    """Told of a run's way through its stages."""

    def begin(self, title: str) -> Progress:
        """A stage has work to do; what is returned is called as it goes on."""

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """A stage's artifact is there."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of one run: what identifies its artifact, and how to make it."""

    title: str
    """What people read: dataset, generation, ground truth, sanitizing, execution or aggregation."""
    folder: str
    """The stage's folder in the store; ground truths and samples share one, so that they share verdicts."""
    settings: Mapping[str, Any]
    inputs: tuple[ArtifactRef, ...]
    version: int
    compute: Callable[[Store, Progress], Computed]

    @property
    def key(self) -> str:
        """Identity of the artifact."""
        return artifact_key(self.folder, self.version, self.settings, [ref.key for ref in self.inputs])


class RunArtifacts(NamedTuple):
    """The artifacts of one whole run."""

    dataset: ArtifactRef
    generation: ArtifactRef
    sanitizing: ArtifactRef
    ground_truth: ArtifactRef
    execution: ArtifactRef
    aggregation: ArtifactRef


def finished_artifact(stage: Stage, store: Store) -> ArtifactRef | None:
    """The stage's artifact, if it is there, intact, and holds no infrastructure error that is worth another try."""
    ref = store.find(stage.folder, stage.key)
    return None if ref is None or ref.statistics.get("infra_errors") else ref


def perform(stage: Stage, store: Store, listener: Listener) -> ArtifactRef:
    """Return the stage's artifact, computing and publishing it only if it is not there."""
    ref = finished_artifact(stage, store)
    reused = ref is not None
    if ref is None:
        table, statistics = stage.compute(store, listener.begin(stage.title))
        ref = store.publish(
            stage.folder, stage.key, table, settings=stage.settings, inputs=stage.inputs, statistics=statistics
        )
    listener.end(stage.title, ref, reused=reused)
    return ref


def perform_all(config: RunConfig, listener: Listener) -> RunArtifacts:
    """Every stage in order, in this process, without Prefect."""
    store = open_store(config.store)
    return in_order(resolve(config), lambda stage: perform(stage, store, listener))


class Generated(NamedTuple):
    """The artifacts of a run up to the programs in its samples."""

    dataset: ArtifactRef
    generation: ArtifactRef
    sanitizing: ArtifactRef


def perform_generation(config: RunConfig, listener: Listener) -> Generated:
    """The stages up to sanitizing in order, in this process, without Prefect."""
    run, store = Resolver().up_to_sanitizing(config), open_store(config.store)
    dataset = perform(dataset_stage(run), store, listener)
    samples = perform(generation_stage(run, dataset), store, listener)
    return Generated(dataset, samples, perform(sanitizing_stage(run, dataset, samples), store, listener))


def finished_run(run: ResolvedRun) -> RunArtifacts | None:
    """The artifacts of a run whose every stage is in the store already, or None where something is left to do."""
    store = open_store(run.config.store)

    def find(stage: Stage) -> ArtifactRef:
        ref = finished_artifact(stage, store)
        if ref is None:
            raise _UnfinishedError
        return ref

    try:
        return in_order(run, find)
    except _UnfinishedError:
        return None


class _UnfinishedError(Exception):
    """A stage's artifact is not in the store."""


def in_order(run: ResolvedRun, obtain: Callable[[Stage], ArtifactRef]) -> RunArtifacts:
    """Every stage's artifact, obtained one after the other from what the former ones gave."""
    dataset = obtain(dataset_stage(run))
    samples = obtain(generation_stage(run, dataset))
    solutions = obtain(sanitizing_stage(run, dataset, samples))
    truths = obtain(ground_truth_stage(run, dataset))
    verdicts = obtain(execution_stage(run, dataset, solutions, truths))
    metrics = obtain(aggregation_stage(run, dataset, solutions, truths, verdicts))
    return RunArtifacts(dataset, samples, solutions, truths, verdicts, metrics)


class Work(NamedTuple):
    """All that a stage's computation is given."""

    config: RunConfig
    """The settings that config.reads declares for the stage, and no other."""
    content: Mapping[str, Any]
    """Values of the contents that it declares for the stage."""
    inputs: tuple[ArtifactRef, ...]
    key: str
    store: Store
    progress: Progress

    def table(self, place: int, columns: list[str] | None = None) -> pa.Table:
        """The table of one of the inputs."""
        return self.store.read(self.inputs[place], columns)


def _stage(
    title: str,
    run: ResolvedRun,
    inputs: tuple[ArtifactRef, ...],
    version: int,
    compute: Callable[[Work], Computed],
    *,
    folder: str = "",
    reads: str = "",
) -> Stage:
    """A stage whose key and computation see what is declared for it under its title, or under ``reads``."""
    declared = READS[reads or title]
    contents = {name: run.contents[name] for name in declared.content}
    config = view(run.config, declared.paths)
    identity = {"of": title, "content": {name: one.identity for name, one in contents.items()}}
    identity |= identity_settings(run.config, declared)

    def computed(store: Store, progress: Progress) -> Computed:
        values = {name: one.value for name, one in contents.items()}
        return compute(Work(config, values, inputs, stage.key, store, progress))

    stage = Stage(title, folder or title, identity, inputs, version, computed)
    return stage


def dataset_stage(run: ResolvedRun) -> Stage:
    """Tasks of the chosen source and view."""

    def load(work: Work) -> Computed:
        resolved = work.content["dataset"]
        return datasets.load_tasks(work.config.dataset, resolved), {"source": resolved.describe}

    return _stage("dataset", run, (), datasets.VERSION, load)


def generation_stage(run: ResolvedRun, dataset: ArtifactRef, shared_limit: "SharedLimit | None" = None) -> Stage:
    """Samples: a model's answers, recorded answers or controls.

    Args:
        run: where samples come from.
        dataset: the tasks.
        shared_limit: entered around each request to a model, such as a limit that several processes share.
    """

    def ask(work: Work) -> Computed:
        from bigcodeflow.generation.model_samples import model_samples  # imports the providers' HTTP client

        config, answers = work.config, work.store.root / "answers"
        own = answers / generation.ledger_key(config.generation)
        with work.store.synchronized(own, LogFiles.ANSWERS), work.store.synchronized(own / "batches", LogFiles.BATCHES):
            return model_samples(
                config.generation,
                work.table(0).to_pylist(),
                config.dataset.split,
                answers_folder=answers,
                report=work.progress,
                notify=logger.warning,
                **({"shared_limit": shared_limit} if shared_limit else {}),
            )

    def read(work: Work) -> Computed:
        view, resolved = work.config.dataset, work.content["dataset"]
        known = datasets.known_task_ids(view, resolved)
        selection = bool(view.ids or view.libraries or view.domains)
        samples = generation.load_samples(work.config.samples, work.table(0), known_task_ids=known, selection=selection)
        return samples, {}

    asked = run.config.samples.source == "model"
    compute, reads = (ask, "generation by a model") if asked else (read, "generation from records")
    return _stage("generation", run, (dataset,), generation.VERSION, compute, reads=reads)


def sanitizing_stage(run: ResolvedRun, dataset: ArtifactRef, samples: ArtifactRef) -> Stage:
    """Solutions: the program in each answer."""

    def sanitize(work: Work) -> Computed:
        settings, answers = work.config.sanitizing, work.table(1)
        if settings.mode == "none" and answers["given_solution"].null_count:
            raise SamplesError(
                f"{work.config.samples.source}: holds raw answers without a 'solution' or 'completion': "
                "run `bigcodeflow sanitize` on it first, or set sanitizing.mode to parity or robust"
            )
        return sanitizing.sanitize_samples(answers, work.table(0), settings, progress=work.progress), {}

    return _stage("sanitizing", run, (dataset, samples), sanitizing.VERSION, sanitize)


def ground_truth_stage(run: ResolvedRun, dataset: ArtifactRef) -> Stage:
    """Verdicts of the canonical solutions: the environment's gate and the expected durations."""
    from bigcodeflow.execution import evaluation
    from bigcodeflow.execution.verdict_index import VerdictIndex
    from bigcodeflow.execution.verdicts import RerunPolicy

    def execute(work: Work) -> Computed:
        planned = evaluation.plan_ground_truths(
            work.table(0),
            config=work.config.execution,
            environment=work.content["environment"],
            costs=VerdictIndex(work.store).costs(),
        )
        return _judge(work, planned, RerunPolicy(confirms_ground_truths=True))

    return _stage("ground truth", run, (dataset,), evaluation.VERSION, execute, folder="execution")


def execution_stage(run: ResolvedRun, dataset: ArtifactRef, solutions: ArtifactRef, ground_truth: ArtifactRef) -> Stage:
    """Verdicts of the samples in every variant asked for."""
    from bigcodeflow.execution import evaluation
    from bigcodeflow.execution.verdicts import RerunPolicy

    def execute(work: Work) -> Computed:
        config, truths = work.config.execution, work.table(2, list(evaluation.GROUND_TRUTH_COLUMNS))
        planned = evaluation.plan_solutions(
            work.table(1),
            work.table(0),
            truths,
            config=config,
            environment=work.content["environment"],
        )
        return _judge(work, planned, RerunPolicy(reruns=config.reruns), _checking(work, truths))

    return _stage("execution", run, (dataset, solutions, ground_truth), evaluation.VERSION, execute)


def aggregation_stage(
    run: ResolvedRun,
    dataset: ArtifactRef,
    solutions: ArtifactRef,
    ground_truth: ArtifactRef,
    verdicts: ArtifactRef,
) -> Stage:
    """Scores with their intervals, by slice."""
    from bigcodeflow import results

    def aggregate(work: Work) -> Computed:
        config, store = work.config, work.store
        quarantined = _quarantined_tasks(work.table(0, ["task_id", "test"]), work.content["quarantine"])
        table = results.aggregate(
            tasks=store.path(dataset),
            verdicts=store.path(verdicts),
            ground_truth=store.path(ground_truth),
            solutions=store.path(solutions),
            split=config.dataset.split,
            subset=config.dataset.subset,
            k=config.aggregation.k,
            quarantined=quarantined,
            exclude_quarantined=config.execution.quarantine == "exclude",
        )
        # A provisional score is computed again once the samples behind it were judged.
        infra_errors = sum(ref.statistics.get("infra_errors", 0) for ref in (ground_truth, verdicts))
        named = {"quarantined_tasks": quarantined} if quarantined else {}
        return table, {"infra_errors": infra_errors} | named

    return _stage("aggregation", run, (dataset, solutions, ground_truth, verdicts), results.VERSION, aggregate)


def _quarantined_tasks(tasks: pa.Table, suspects: frozenset[tuple[str, str]]) -> list[str]:
    if not suspects:
        return []
    from bigcodeflow.execution.planning import sha256_of_test

    return [task["task_id"] for task in tasks.to_pylist() if (task["task_id"], sha256_of_test(task)) in suspects]


def _checking(work: Work, truths: pa.Table) -> "Checking | None":
    """What passing samples are checked with, where that is asked for."""
    from bigcodeflow.execution import evaluation
    from bigcodeflow.execution.integrity.contradictions import Contradictions

    config, environment = work.config.execution, work.content["environment"]
    if config.integrity == "off":
        return None
    references = evaluation.plan_references(work.table(0), truths, config=config, environment=environment)
    return evaluation.Checking(references, Contradictions(work.store, environment.environment_sha))


def _judge(
    work: Work,
    planned: "list[Planned]",
    policy: "RerunPolicy",
    checking: "Checking | None" = None,
) -> Computed:
    from bigcodeflow.execution import evaluation
    from bigcodeflow.execution.verdict_index import VerdictIndex

    folder = "execution"
    ledger_folder = work.store.workspace(folder, work.key)
    others = [one for one in work.store.unfinished(folder) if one != ledger_folder]
    with work.store.synchronized(ledger_folder, LogFiles.VERDICTS):
        return evaluation.judge(
            planned,
            config=work.config.execution,
            environment=work.content["environment"],
            ledger_folder=ledger_folder,
            known=VerdictIndex(work.store).verdicts,
            other_ledgers=others,
            policy=policy,
            checking=checking,
            progress=work.progress,
        )
