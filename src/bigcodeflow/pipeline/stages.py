"""The stages of a run: their graph, declared once, and the computation of each stage.

dataset → generation → sanitizing → execution → aggregation; the ground truths are executed along with the samples.
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
"""A stage's table, and the numbers that it counted."""


class Listener(Protocol):
    """Receiver that shows the progress of a run's stages."""

    def begin(self, title: str) -> Progress:
        """Show that a stage has work to do; return the callback for its progress reports."""

    def end(self, title: str, ref: ArtifactRef, *, reused: bool) -> None:
        """Show that a stage's artifact is in the store."""


class RoundArtifacts(NamedTuple):
    """The artifacts of one further round, for the samples that were asked for again in it."""

    generation: ArtifactRef
    sanitizing: ArtifactRef
    execution: ArtifactRef

    @property
    def keys(self) -> dict[str, str]:
        """Keys of the artifacts, by stage."""
        return {name: ref.key for name, ref in self._asdict().items()}


class RunArtifacts(NamedTuple):
    """The artifacts of one whole run: those that scores are computed from, and those of its further rounds."""

    dataset: ArtifactRef
    generation: ArtifactRef
    sanitizing: ArtifactRef
    ground_truth: ArtifactRef
    execution: ArtifactRef
    aggregation: ArtifactRef
    rounds: tuple[RoundArtifacts, ...] = ()

    @classmethod
    def of(cls, refs: Mapping[str, ArtifactRef], rounds: tuple[RoundArtifacts, ...] = ()) -> Self:
        """Make the tuple from a run's artifacts by stage, and those of further rounds."""
        return cls._make([*(refs[name] for name in STAGE_FOLDERS), rounds])

    @property
    def by_stage(self) -> dict[str, ArtifactRef]:
        """Artifacts by stage, without those of further rounds."""
        return {name: getattr(self, name) for name in STAGE_FOLDERS}


class Work(NamedTuple):
    """All inputs of a stage's computation."""

    config: RunConfig
    """Settings that config.reads declares for the stage, and no others."""
    content: Mapping[str, Any]
    """Values of the contents that config.reads declares for the stage."""
    inputs: Mapping[str, ArtifactRef]
    """Artifacts of the stage's inputs, by stage."""
    key: str
    store: Store
    progress: Progress
    concurrent: ConcurrentStages
    """Data that the stage shares with other stages of its run."""
    shared_limit: "SharedLimit | None" = None
    """Context entered around each request to a model, such as a limit that several processes share."""

    def table(self, stage: str, columns: list[str] | None = None) -> pa.Table:
        """Read the table of an input."""
        return self.store.read(self.inputs[stage], columns)


def _load_tasks(work: Work) -> Computed:
    resolved = work.content["dataset"]
    parts = {"parts": found} if (found := resolved.fingerprint.get("parts")) else {}
    return datasets.load_tasks(work.config.dataset, resolved), {"source": resolved.describe, **parts}


def recorded_samples(config: RunConfig, resolved: datasets.ResolvedDataset, tasks: pa.Table) -> pa.Table:
    """Load existing samples of the run's tasks; see `generation.load_samples`."""
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
    """Ask again for samples that failed in the last round among the inputs."""
    from bigcodeflow.generation.repair import RoundTables, repaired_samples  # imports the providers' HTTP client

    last = (len(work.inputs) - 1) // len(ROUND_STAGES)
    rounds = [
        RoundTables(*(work.table(round_input(stage, number)) for stage in ROUND_STAGES))
        for number in range(1, last + 1)
    ]
    table, counts = _ask(work, partial(repaired_samples, rounds=rounds))
    # A sample that could not be judged may be asked for once it is judged: until then this round is unfinished.
    return table, {**counts, "infra_errors": 0, **_open_before(work, round_input("execution", last))}


def round_input(stage: str, number: int) -> str:
    """Return the name of a round's artifact, by the round's number from 1, among the inputs of later rounds."""
    return f"{stage} {number}"


def _ask(work: Work, samples_of: Callable[..., Computed]) -> Computed:
    """Ask the model; keep answers in the ledger of its settings, which machines that use the same store share."""
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
    """Return ``infra_errors``, the samples that earlier rounds could not judge: an artifact with some is unfinished."""
    count = work.inputs[stage].statistics.get("infra_errors", 0)
    return {"infra_errors": count} if count else {}


def _execute_ground_truths(work: Work) -> Computed:
    """Execute the canonical solutions: their verdicts check the environment and give the expected durations."""
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
    """One stage of every run: its inputs, and how to compute its artifact."""

    title: str
    """Name in messages and displays."""
    inputs: tuple[str, ...] | None
    """Stages whose artifacts it reads; their order is part of the key. None: all given artifacts."""
    version: int
    """Version of the code, increased when the code changes the outcome."""
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
    """One stage of one run: its artifact's identity, and how to compute the artifact."""

    title: str
    folder: str
    settings: Mapping[str, Any]
    inputs: tuple[ArtifactRef, ...]
    version: int
    compute: Callable[[Store, Progress], Computed]

    @property
    def key(self) -> str:
        """Identity of the artifact."""
        return artifact_key(self.folder, self.version, self.settings, [ref.key for ref in self.inputs])

    @property
    def planned(self) -> ArtifactRef:
        """Reference to the artifact before it exists: a key depends only on the keys above it."""
        return ArtifactRef(stage=self.folder, key=self.key, rows=0, sha256="")


def stage_of(
    name: str,
    run: ResolvedRun,
    refs: Mapping[str, ArtifactRef],
    *,
    shared_limit: "SharedLimit | None" = None,
    concurrent: ConcurrentStages = ALONE,
) -> Stage:
    """Return a stage of a run, by its key in STAGES; it sees only settings and contents that config.reads declares.

    ``refs`` are artifacts of earlier stages, its inputs among them; see `Work` for the others.
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
    """Return the artifacts of the target stage and of all stages before it, by stage; inputs are obtained first.

    ``obtain`` returns a stage's artifact, given its name and the artifacts so far; those in ``given`` are not obtained.
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
    """Return the stage's artifact; compute and publish it only if the store has no finished one."""
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
