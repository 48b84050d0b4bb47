"""An imported file as a run of the store: the same artifacts, of the same stages, made from what the file states."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow import datasets, generation, results
from bigcodeflow.config import RunConfig, SamplesConfig, load_settings
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.schemas import SAMPLES, UNKNOWN, VERDICTS, table_of
from bigcodeflow.importing.claims import Claim, Value, agreed, claims_of_name, claims_of_samples
from bigcodeflow.importing.matching import Matched, check_samples, match
from bigcodeflow.importing.reading import ResultsFile, raise_defects, read_results
from bigcodeflow.importing.recording import NAME_LENGTH, refuse_other_claims, write_record
from bigcodeflow.importing.scores import Scores, contradictions, failed_ground_truths, scores_of
from bigcodeflow.importing.verdict_rows import BACKEND, ground_truth_verdict, sample_verdict
from bigcodeflow.pipeline import stages
from bigcodeflow.pipeline.resolution import Content, ResolvedRun, Resolver
from bigcodeflow.store import ArtifactRef, Store, open_store

#: Part of every imported artifact's key; bump when the same file gives other rows.
VERSION = 2
_K = (1, 5, 10)
_SAMPLES_SUFFIX = re.compile(r"\.jsonl(\.gz)?$")
#: Metrics that speak of ground truths.
_OF_GROUND_TRUTHS = frozenset({"pass@k_judgeable", "ground_truth_rate", "ground_truth_flaky_count"})


class ImportedRun(NamedTuple):
    """What a file became."""

    record: str
    """Name of the run record."""
    config: RunConfig
    model: str
    metrics: ArtifactRef
    ground_truth: ArtifactRef | None
    """None where it is not known how ground truths came out."""


@dataclass(frozen=True, slots=True)
class _Import:
    """One file on its way."""

    results: ResultsFile
    scores: Scores
    told: Mapping[str, Value]
    """What is said of it: model, split and subset, and more where it is known."""
    run: ResolvedRun
    matched: Matched
    dataset: ArtifactRef
    samples_source: str
    """Sample file with the raw answers; empty: none was given."""

    @property
    def config(self) -> RunConfig:
        """The settings that the stages are made with."""
        return self.run.config


def import_results(
    path: Path,
    *,
    settings: dict[str, Any],
    store: Path,
    listener: stages.Listener,
    samples: str = "",
    name: str = "",
) -> ImportedRun:
    """Record a result file of the original evaluator as a run; the same file again gives the same run.

    Args:
        path: ``*_eval_results.json``, gzipped or not; ``*_pass_at_k.json`` is read where it stands beside it.
        settings: section 'dataset' of the configuration; split and subset, where they are not in it, are those that
            the file's name or its scores tell.
        store: where the artifacts go.
        listener: told of the stages.
        samples: sample file that was evaluated, for the raw answers.
        name: name of the run; empty takes the file's.

    Raises:
        SamplesError: all defects of the file; scores beside it that are not those of its samples; or its name, the
            scores, an option and what the store has recorded of it contradict each other.
        ConfigError: the split is told nowhere.
        DatasetError: the tasks cannot be had.
    """
    found, scores = read_results(path), scores_of(path)
    claims = [*claims_of_options(settings, samples=samples, name=name), *_claims(found, scores)]
    said = agreed(path, claims)
    told = _told(found, said)
    if not found.defects:  # else the samples are not all there, and match tells of everything
        raise_defects(list(contradictions(scores, path, found.entries)))
    run = Resolver().up_to_sanitizing(_config(found, told, scores, settings, store=store, name=name))
    # The same results gzipped are the same.
    run = replace(run, contents={**run.contents, "samples": Content({"results_sha256": found.sha256})})
    config, kept = run.config, open_store(run.config.store)
    refuse_other_claims(found, {**told, "model": said.get("model")}, kept)
    dataset = stages.perform(stages.stage_of("dataset", run, {}), kept, listener)
    matched = match(
        found,
        kept.read(dataset).to_pylist(),
        known_task_ids=datasets.known_task_ids(config.dataset, datasets.resolve(config.dataset)),
        selection=bool(config.dataset.ids),
        claims=claims,
    )
    config = config.model_copy(
        update={"execution": config.execution.model_copy(update={"variants": (matched.variant,)})}
    )
    return _record(_Import(found, scores, told, replace(run, config=config), matched, dataset, samples), kept, listener)


def claims_of_options(settings: Mapping[str, Any], *, samples: str, name: str) -> Iterator[Claim]:
    """What the user says of a file, with options and with the names that are given with them."""
    for field in ("split", "subset"):
        if settings.get(field):
            yield Claim(field, settings[field], f"--{field}")
    yield from claims_of_name(name, "--name")
    yield from claims_of_name(_SAMPLES_SUFFIX.sub("", Path(samples).name), "the name of --samples")


def _claims(found: ResultsFile, scores: Scores) -> Iterator[Claim]:
    yield from scores.claims
    yield from claims_of_name(found.stem, "the file's name")
    if not found.defects:
        yield from claims_of_samples([entry.task_id for entry in found.entries])


def _told(found: ResultsFile, told: Mapping[str, Value]) -> dict[str, Value]:
    if "split" not in told:
        raise ConfigError(f"{found.path}: neither its name nor a pass_at_k.json beside it tells the split: add --split")
    named = {"model": found.stem, "subset": "full", **told}
    return {field: value for field, value in named.items() if field != "calibrated"}


def _config(
    found: ResultsFile,
    told: Mapping[str, Value],
    scores: Scores,
    settings: Mapping[str, Any],
    *,
    store: Path,
    name: str,
) -> RunConfig:
    """What the stages are made with; see :func:`write_record` for what is recorded of it."""
    dataset = {key: value for key, value in settings.items() if value}
    dataset |= {"split": told["split"], "subset": told["subset"]}
    own_name = re.sub(r"[^\w.\-+]", "-", found.stem)[:NAME_LENGTH]
    return load_settings(
        {
            "name": name or own_name,
            "store": str(store),
            "dataset": dataset,
            "samples": {"source": str(found.path)},
            "sanitizing": {"mode": "none"},
            "aggregation": {"k": sorted({*_K, *scores.pass_at_k})},
            # What is known of an environment here says nothing about verdicts of another one.
            "execution": {"quarantine": "off"},
        },
        "import",
    )


def _record(given: _Import, store: Store, listener: stages.Listener) -> ImportedRun:
    run, dataset = given.run, given.dataset
    failed = failed_ground_truths(given.scores, len({entry.task_id for entry in given.results.entries}))
    samples_stage = _samples_stage(given)
    samples = stages.perform(samples_stage, store, listener)
    solutions = stages.perform(_solutions_stage(given, samples), store, listener)
    truths = None
    if failed is not None:
        truths = stages.perform(_ground_truth_stage(given, failed), store, listener)
    verdicts = stages.perform(_verdicts_stage(given, solutions), store, listener)
    if truths is None:
        last = _metrics_stage(given, solutions, verdicts)
    else:
        refs = {"dataset": dataset, "sanitizing": solutions, "ground_truth": truths, "execution": verdicts}
        last = stages.stage_of("aggregation", run, refs)
    metrics = stages.perform(last, store, listener)
    artifacts = {
        "dataset": dataset.key,
        "generation": samples.key,
        "sanitizing": solutions.key,
        "ground_truth": None if truths is None else truths.key,
        "execution": verdicts.key,
        "aggregation": metrics.key,
    }
    origin = {
        # The file's name stands in for a model that nobody has named, which contradicts nothing.
        "model": None if given.told["model"] == given.results.stem else given.told["model"],
        "variant": given.matched.variant,
        "tasks": stages.stage_of("dataset", run, {}).settings,
        "samples": samples_stage.settings,
        "failed_ground_truths": None if failed is None else sorted(failed),
    }
    record = write_record(given.results, run.config, told=given.told, origin=origin, artifacts=artifacts, store=store)
    results.rebuild_catalog(store.location)
    return ImportedRun(record, run.config, str(given.told["model"]), metrics, truths)


def _samples_stage(given: _Import) -> stages.Stage:
    """The sample file's answers; without one, programs stand in for the answers that nobody kept."""
    settings: dict[str, Any] = {"of": "imported samples", "results_sha256": given.results.sha256}
    if given.samples_source:
        source = SamplesConfig(source=given.samples_source)
        settings |= generation.fingerprint(source)

    def compute(store: Store, _progress: stages.Progress) -> stages.Computed:
        rows = _answers(given, store) if given.samples_source else _programs(given.matched)
        return table_of(rows, schema=SAMPLES), {}

    return stages.Stage("generation", "generation", settings, (given.dataset,), VERSION, compute)


def _programs(matched: Matched) -> list[dict[str, Any]]:
    return [
        {
            "task_id": entry.task_id,
            "sample_index": entry.sample_index,
            "raw_text": solution,
            "given_solution": solution,
            "provider": BACKEND,
            "attempts": 1,
        }
        for entry, solution in zip(matched.entries, matched.solutions, strict=True)
    ]


def _answers(given: _Import, store: Store) -> list[dict[str, Any]]:
    dataset = given.config.dataset
    rows: list[dict[str, Any]] = generation.load_samples(
        SamplesConfig(source=given.samples_source),
        store.read(given.dataset),
        known_task_ids=datasets.known_task_ids(dataset, datasets.resolve(dataset)),
        selection=bool(dataset.ids),
    ).to_pylist()
    check_samples(given.results, given.matched, rows, given.samples_source)
    executed = dict(
        zip(((one.task_id, one.sample_index) for one in given.matched.entries), given.matched.solutions, strict=True)
    )
    return [row | {"given_solution": executed[row["task_id"], row["sample_index"]]} for row in rows]


def _solutions_stage(given: _Import, samples: ArtifactRef) -> stages.Stage:
    """The programs as they are, said to be of an unknown sanitizer: 'none' would state that nobody took them out."""
    plain = stages.stage_of("sanitizing", given.run, {"dataset": given.dataset, "generation": samples})

    def compute(store: Store, progress: stages.Progress) -> stages.Computed:
        table, statistics = plain.compute(store, progress)
        place = table.schema.get_field_index("sanitizer")
        return table.set_column(place, table.schema.field(place), [[UNKNOWN] * table.num_rows]), statistics

    return replace(plain, settings={**plain.settings, "of": "imported programs"}, compute=compute)


def _ground_truth_stage(given: _Import, failed: frozenset[str]) -> stages.Stage:
    settings = {"of": "imported ground truths", "failed_tasks": sorted(failed)}

    def compute(store: Store, _progress: stages.Progress) -> stages.Computed:
        rows = [
            ground_truth_verdict(task, passes=task["task_id"] not in failed)
            for task in store.read(given.dataset).to_pylist()
        ]
        return table_of(rows, schema=VERDICTS), {}

    return stages.Stage("ground truth", "execution", settings, (given.dataset,), VERSION, compute)


def _verdicts_stage(given: _Import, solutions: ArtifactRef) -> stages.Stage:
    variant = given.matched.variant
    settings = {"of": "imported samples", "results_sha256": given.results.sha256, "variant": variant}

    def compute(store: Store, _progress: stages.Progress) -> stages.Computed:
        tasks = {task["task_id"]: task for task in store.read(given.dataset).to_pylist()}
        rows = [sample_verdict(entry, tasks[entry.task_id], variant=variant) for entry in given.matched.entries]
        return table_of(rows, schema=VERDICTS), {}

    return stages.Stage("execution", "execution", settings, (given.dataset, solutions), VERSION, compute)


def _metrics_stage(given: _Import, solutions: ArtifactRef, verdicts: ArtifactRef) -> stages.Stage:
    """Scores of a run whose ground truths are not known; nothing in them speaks of ground truths."""
    config = given.config
    split, subset = config.dataset.split, config.dataset.subset
    settings: dict[str, Any] = {"k": list(config.aggregation.k), "split": split, "subset": subset}
    settings |= {"ground_truths": "unknown", "results_version": results.VERSION}

    def compute(store: Store, _progress: stages.Progress) -> stages.Computed:
        tasks = store.read(given.dataset).to_pylist()
        with tempfile.TemporaryDirectory() as folder:
            # The models ask for a verdict on every ground truth; what follows from this one is taken out again.
            unknown = Path(folder) / "ground_truth.parquet"
            rows = [ground_truth_verdict(task, passes=False) for task in tasks]
            pq.write_table(table_of(rows, schema=VERDICTS), unknown)
            table = results.aggregate(
                tasks=store.path(given.dataset),
                verdicts=store.path(verdicts),
                ground_truth=unknown,
                solutions=store.path(solutions),
                split=split,
                subset=subset,
                k=config.aggregation.k,
            )
        kept = [metric not in _OF_GROUND_TRUTHS for metric in table["metric"].to_pylist()]
        return table.filter(pa.array(kept)), {}

    return stages.Stage("aggregation", "aggregation", settings, (given.dataset, solutions, verdicts), VERSION, compute)
