"""Stages of a run: the graph of their inputs, and the computation of each stage.

The order is dataset → generation → sanitizing → execution → aggregation; ground truths are executed with the samples.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import pyarrow as pa

from bigcodeflow import datasets, execution, generation, results, sanitizing
from bigcodeflow.config import RunConfig
from bigcodeflow.config.reads import READS, identity_settings, view
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.core.progress import Progress
from bigcodeflow.core.schemas import STAGE_FOLDERS
from bigcodeflow.generation.feedback import VERSION as REPAIR_VERSION
from bigcodeflow.pipeline.concurrent_stages import ALONE, ConcurrentStages
from bigcodeflow.pipeline.interruption import quiet_interruption
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.sanitizing.samples import sanitize_samples
from bigcodeflow.store import ArtifactRef, LogFiles, Store, artifact_key

if TYPE_CHECKING:
    from bigcodeflow.execution.planning import Planned
    from bigcodeflow.execution.reruns import RerunPolicy
    from bigcodeflow.generation.engine import SharedLimit

logger = logging.getLogger(__name__)

#: Stages that leave an artifact in each round, in order.
ROUND_STAGES = ("generation", "sanitizing", "execution")
Computed = tuple[pa.Table, Mapping[str, Any]]
"""Result of a stage's computation: its table, and statistics about the table, by name."""


class Listener(Protocol):
    """Receiver that shows the progress of a run's stages."""

    def begin(self, title: str) -> Progress:
        """Show that a stage begins its work; return the callback that receives its progress reports."""

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """Show that a stage's artifact is in the store, either computed or ``reused``."""


class RoundArtifacts(NamedTuple):
    """Artifacts of a round after the first, for the samples for which the model was asked again in this round."""

    generation: ArtifactRef
    sanitizing: ArtifactRef
    execution: ArtifactRef

    @property
    def keys(self) -> dict[str, str]:
        """Keys of the artifacts, by stage."""
        return {name: ref.key for name, ref in self._asdict().items()}


class RunArtifacts(NamedTuple):
    """All artifacts of a run: the artifacts of round 1, which give the scores, and the artifacts of further rounds."""

    dataset: ArtifactRef
    generation: ArtifactRef
    sanitizing: ArtifactRef
    ground_truth: ArtifactRef
    execution: ArtifactRef
    aggregation: ArtifactRef
    rounds: tuple[RoundArtifacts, ...] = ()

    @classmethod
    def of(cls, refs: Mapping[str, ArtifactRef], rounds: tuple[RoundArtifacts, ...] = ()) -> Self:
        """Make the tuple from ``refs`` (the artifacts of round 1 by stage name) and the artifacts of further rounds."""
        return cls._make([*(refs[name] for name in STAGE_FOLDERS), rounds])

    @property
    def by_stage(self) -> dict[str, ArtifactRef]:
        """Artifacts of round 1 by stage name."""
        return {name: getattr(self, name) for name in STAGE_FOLDERS}


class Work(NamedTuple):
    """All inputs of a stage's computation."""

    config: RunConfig
    """Only the settings that ``config.reads`` declares for the stage."""
    content: Mapping[str, Any]
    """Resolved contents that ``config.reads`` declares for the stage, by name, such as dataset or environment."""
    inputs: Mapping[str, ArtifactRef]
    """Artifacts that the stage reads, by stage name; in a repair also with the round, such as 'execution 1'."""
    key: str
    store: Store
    progress: Progress
    concurrent: ConcurrentStages
    """Data that the stage shares with other stages of its run."""
    shared_limit: "SharedLimit | None" = None
    """Returns a context manager that is entered around each request to a model, such as a limit shared by processes."""

    def table(self, stage: str, columns: list[str] | None = None) -> pa.Table:
        """Read the table of the input ``stage``; if ``columns`` is given, read only these columns."""
        return self.store.read(self.inputs[stage], columns)


def _load_tasks(work: Work) -> Computed:
    resolved = work.content["dataset"]
    parts = {"parts": found} if (found := resolved.fingerprint.get("parts")) else {}
    return datasets.load_tasks(work.config.dataset, resolved), {"source": resolved.describe, **parts}


def recorded_samples(config: RunConfig, resolved: datasets.ResolvedDataset, tasks: pa.Table) -> pa.Table:
    """Load recorded samples (a file, a folder or a control) for the run's tasks; see `generation.load_samples`."""
    view = config.dataset
    known = datasets.known_task_ids(view, resolved)
    selection = bool(view.ids or view.libraries or view.domains or view.difficulty or view.released_after)
    return generation.load_samples(config.samples, tasks, known_task_ids=known, selection=selection)


def _generate(work: Work) -> Computed:
    """Produce the samples: recorded answers, controls, or a model's answers."""
    if "samples" in work.content:  # handed by READS to a run that reads them, and to no other
        return recorded_samples(work.config, work.content["dataset"], work.table("dataset")), {}
    from bigcodeflow.execution.costs import longest_first
    from bigcodeflow.generation.model_samples import model_samples  # imports the providers' HTTP client

    return _ask(work, partial(model_samples, asked_by=longest_first))


def _repair(work: Work) -> Computed:
    """Ask the model again for the samples that failed in the latest round, whose artifacts are inputs."""
    from bigcodeflow.generation.repair import RoundTables, repaired_samples  # imports the providers' HTTP client

    last = (len(work.inputs) - 1) // len(ROUND_STAGES)
    rounds = [
        RoundTables(*(work.table(round_input(stage, number)) for stage in ROUND_STAGES))
        for number in range(1, last + 1)
    ]
    table, counts = _ask(work, partial(repaired_samples, rounds=rounds))
    # A sample without a verdict may still fail and need a repair: until it is judged, this round is unfinished.
    return table, {**counts, "infra_errors": 0, **_open_before(work, round_input("execution", last))}


def round_input(stage: str, number: int) -> str:
    """Return the name of a round's artifact among the inputs of later rounds, such as 'execution 1' for round 1."""
    return f"{stage} {number}"


def _ask(work: Work, samples_of: Callable[..., Computed]) -> Computed:
    """Ask the model for samples; keep its answers in a ledger that all machines with the same store share."""
    config, answers = work.config.generation, work.store.root / "answers"
    own = answers / generation.ledger_key(config)
    with work.store.synchronized(own, LogFiles.ANSWERS), work.store.synchronized(own / "batches", LogFiles.BATCHES):
        return samples_of(
            config,
            work.table("dataset").to_pylist(),
            work.config.dataset.split,
            answers_folder=answers,
            report=work.progress,
            notify=logger.warning,
            **({"shared_limit": work.shared_limit} if work.shared_limit else {}),
        )


def _sanitize(work: Work) -> Computed:
    settings, answers = work.config.sanitizing, work.table("generation")
    if settings.mode == "none" and answers["given_solution"].null_count:
        raise SamplesError(
            f"{work.config.samples.source}: holds raw answers without a 'solution' or 'completion': "
            "run `bigcodeflow sanitize` on it first, or set sanitizing.mode to parity or robust"
        )
    table = sanitize_samples(answers, work.table("dataset"), settings, progress=work.progress)
    return table, _open_before(work, "generation")


def _open_before(work: Work, stage: str) -> dict[str, int]:
    """Return {'infra_errors': number of samples that the input ``stage`` left unfinished}; {} if the number is 0."""
    count = work.inputs[stage].statistics.get("infra_errors", 0)
    return {"infra_errors": count} if count else {}


def _execute_ground_truths(work: Work) -> Computed:
    """Execute the canonical solutions; their verdicts check the environment and give expected durations."""
    from bigcodeflow.execution.planning import plan_ground_truths
    from bigcodeflow.execution.reruns import RerunPolicy
    from bigcodeflow.execution.verdict_index import VerdictIndex

    config, environment, costs = work.config.execution, work.content["environment"], VerdictIndex(work.store).costs()
    planned = plan_ground_truths(work.table("dataset"), config=config, environment=environment, costs=costs)
    hand_over = work.concurrent.truths.put if work.concurrent.truths else None
    return _judge(work, [planned], RerunPolicy(confirms_ground_truths=True), on_verdict=hand_over)


def _execute_samples(work: Work) -> Computed:
    from bigcodeflow.execution.planning import GROUND_TRUTH_COLUMNS, Planner, planned_in_parts
    from bigcodeflow.execution.reruns import RerunPolicy
    from bigcodeflow.execution.stored_contradictions import StoredContradictions

    config, environment, concurrent = work.config.execution, work.content["environment"], work.concurrent
    arriving_truths = concurrent.truths
    truths = None if arriving_truths else work.table("ground_truth", list(GROUND_TRUTH_COLUMNS))
    planner = Planner(work.table("dataset"), truths, config=config, environment=environment)

    def solutions() -> "Iterator[pa.Table | None]":
        yield from concurrent.guarded(concurrent.arriving)
        if arriving_truths:
            yield work.table("sanitizing")

    def chunks() -> "Iterator[list[Planned] | None]":
        for chunk in planned_in_parts(planner, solutions(), concurrent.guarded(arriving_truths or ())):
            yield None if config.reruns else chunk  # which samples are executed again depends on all verdicts
        if arriving_truths:  # another run may have executed them, and then none arrived
            planner.learn(work.table("ground_truth").to_pylist())
        yield planner.samples(work.table("sanitizing"))

    known = StoredContradictions(work.store, environment.environment_sha, planner.task_ids)
    texts = None if config.integrity == "off" else known
    count = (concurrent.expected_solutions or work.inputs["sanitizing"].rows) * len(config.variants)
    policy = RerunPolicy(config.reruns)
    table, counts = _judge(work, chunks(), policy, planner=planner, texts=texts, expected_rows=count)
    before = _open_before(work, "sanitizing").get("infra_errors", 0)
    return table, {**counts, "infra_errors": counts["infra_errors"] + before}


def _aggregate(work: Work) -> Computed:
    config, inputs, suspects = work.config, work.inputs, work.content["quarantine"]
    quarantined: list[str] = []
    if suspects:
        from bigcodeflow.execution.costs import sha256_of_test

        tasks = work.table("dataset", ["task_id", "test"]).to_pylist()
        quarantined = [task["task_id"] for task in tasks if (task["task_id"], sha256_of_test(task)) in suspects]
    table = results.aggregate(
        tasks=work.store.path(inputs["dataset"]),
        verdicts=work.store.path(inputs["execution"]),
        ground_truth=work.store.path(inputs["ground_truth"]),
        solutions=work.store.path(inputs["sanitizing"]),
        split=config.dataset.split,
        subset=config.dataset.subset,
        k=config.aggregation.k,
        quarantined=quarantined,
        exclude_quarantined=config.execution.quarantine == "exclude",
        parts=inputs["dataset"].statistics.get("parts", {}),
    )
    # A provisional score is computed again once its missing samples are judged.
    counts: dict[str, Any] = {
        name: sum(inputs[stage].statistics.get(name, 0) for stage in ("ground_truth", "execution"))
        for name in ("infra_errors", "unchecked_passes")
    }
    counts |= {"quarantined_tasks": quarantined}
    return table, {name: count for name, count in counts.items() if count or name == "infra_errors"}


def _judge(
    work: Work,
    chunks: "Iterable[list[Planned] | None]",
    policy: "RerunPolicy",
    **options: Any,
) -> Computed:
    from bigcodeflow.execution import evaluation
    from bigcodeflow.execution.verdict_index import VerdictIndex

    ledger_folder, workers = work.store.workspace("execution", work.key), work.concurrent.workers
    others = [one for one in work.store.unfinished("execution") if one != ledger_folder]
    with work.store.synchronized(ledger_folder, LogFiles.VERDICTS):
        return evaluation.judge(
            chunks,
            config=work.config.execution,
            environment=work.content["environment"],
            ledger_folder=ledger_folder,
            known=VerdictIndex(work.store).verdicts,
            other_ledgers=others,
            policy=policy,
            workers=workers() if workers else None,
            progress=work.progress,
            **options,
        )


@dataclass(frozen=True, slots=True)
class StageSpec:
    """Declaration of a stage: its inputs, and the function that computes its artifact."""

    title: str
    """Name of the stage in messages and displays."""
    inputs: tuple[str, ...] | None
    """Stages whose artifacts this stage reads; their order is part of the key. None: all earlier artifacts."""
    version: int
    """Version of the stage's code; increased when a change of the code changes the table."""
    compute: Callable[[Work], Computed]


_JUDGED = ("dataset", "sanitizing", "ground_truth")
#: The stages by their names in RunArtifacts; 'repair' is the generation of further rounds, see `runs.further_rounds`.
STAGES: Mapping[str, StageSpec] = {
    "dataset": StageSpec("dataset", (), datasets.VERSION, _load_tasks),
    "generation": StageSpec("generation", ("dataset",), generation.VERSION, _generate),
    "sanitizing": StageSpec("sanitizing", ("dataset", "generation"), sanitizing.VERSION, _sanitize),
    "ground_truth": StageSpec("ground truth", ("dataset",), execution.VERSION, _execute_ground_truths),
    "execution": StageSpec("execution", _JUDGED, execution.VERSION, _execute_samples),
    "aggregation": StageSpec("aggregation", (*_JUDGED, "execution"), results.VERSION, _aggregate),
    "repair": StageSpec("repair", None, REPAIR_VERSION, _repair),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Stage of a particular run: the identity of its artifact, and the function that computes the artifact."""

    title: str
    folder: str
    settings: Mapping[str, Any]
    inputs: tuple[ArtifactRef, ...]
    version: int
    compute: Callable[[Store, Progress], Computed]

    @property
    def key(self) -> str:
        """Key of the artifact: a sha256 of the stage, its version and settings, and the keys of its inputs."""
        return artifact_key(self.folder, self.version, self.settings, [ref.key for ref in self.inputs])

    @property
    def planned(self) -> ArtifactRef:
        """Reference to the artifact before it exists; its key depends only on settings and the keys of inputs."""
        return ArtifactRef(stage=self.folder, key=self.key, rows=0, sha256="")


def stage_of(
    name: str,
    run: ResolvedRun,
    refs: Mapping[str, ArtifactRef],
    *,
    shared_limit: "SharedLimit | None" = None,
    concurrent: ConcurrentStages = ALONE,
) -> Stage:
    """Return the stage ``name`` of a run; it reads only the settings and contents that `config.reads` declares.

    ``name`` is a key of STAGES. ``refs`` must include the stage's inputs. See `Work` for the other parameters.
    """
    spec = STAGES[name]
    origin = " by a model" if run.config.samples.source == "model" else " from records"
    declared = READS[f"generation{origin}" if name == "generation" else spec.title]
    contents = {content: run.contents[content] for content in declared.content}
    inputs = {name: refs[name] for name in (refs if spec.inputs is None else spec.inputs)}
    identity = {"of": spec.title, "content": {content: one.identity for content, one in contents.items()}}
    identity |= identity_settings(run.config, declared)

    def compute(store: Store, progress: Progress) -> Computed:
        values = {content: one.value for content, one in contents.items()}
        config, guarded = view(run.config, declared.paths), concurrent.guarded_progress(progress)
        return spec.compute(Work(config, values, inputs, stage.key, store, guarded, concurrent, shared_limit))

    folder = STAGE_FOLDERS["generation" if name == "repair" else name]
    return (stage := Stage(spec.title, folder, identity, tuple(inputs.values()), spec.version, compute))


def each_stage(
    obtain: Callable[[str, Mapping[str, ArtifactRef]], ArtifactRef],
    *,
    target: str = "aggregation",
    given: Mapping[str, ArtifactRef] = MappingProxyType({}),
) -> dict[str, ArtifactRef]:
    """Return the artifacts of the stage ``target`` and of all stages before it, by stage name.

    ``obtain`` takes a stage's name and the artifacts so far, and returns its artifact. Inputs are obtained first.
    Artifacts in ``given`` are not obtained again.
    """
    refs = dict(given)

    def require(name: str) -> None:
        if name not in refs:
            for needed in STAGES[name].inputs or ():
                require(needed)
            refs[name] = obtain(name, refs)

    require(target)
    return refs


def finished_artifact(stage: Stage, store: Store) -> ArtifactRef | None:
    """Return the stage's artifact if it is in the store, intact, and free of infrastructure errors; else None."""
    ref = store.find(stage.folder, stage.key)
    return None if ref is None or ref.statistics.get("infra_errors") else ref


def perform(stage: Stage, store: Store, listener: Listener) -> ArtifactRef:
    """Return the stage's artifact; compute and publish it only if the store has no finished artifact."""
    ref = finished_artifact(stage, store)
    reused = ref is not None
    if ref is None:
        with quiet_interruption():
            table, statistics = stage.compute(store, listener.begin(stage.title))
        # An input that was unfinished when the stage began is described by its final artifact.
        inputs = [given if given.sha256 else store.find(given.stage, given.key) or given for given in stage.inputs]
        ref = store.publish(
            stage.folder, stage.key, table, settings=stage.settings, inputs=inputs, statistics=statistics
        )
    listener.end(stage.title, ref, reused=reused)
    return ref
