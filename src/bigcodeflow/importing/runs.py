"""An imported file as a run of the store: the same artifacts, of the same stages, made from what the file states."""

import json
import math
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow import datasets, generation, results, stages
from bigcodeflow.artifacts import ArtifactRef, Store
from bigcodeflow.config import RunConfig, SamplesConfig, load_settings
from bigcodeflow.errors import ConfigError, SamplesError
from bigcodeflow.importing.matching import Matched, check_samples, match
from bigcodeflow.importing.reading import ResultsFile, read_results
from bigcodeflow.importing.scores import Told, failed_ground_truths, told_of
from bigcodeflow.importing.verdict_rows import BACKEND, ground_truth_verdict, sample_verdict
from bigcodeflow.resolving import ResolvedRun, Resolver
from bigcodeflow.schemas import SAMPLES, VERDICTS

#: Part of every imported artifact's key; bump when the same file gives other rows.
VERSION = 2
_K = (1, 5, 10)
#: Leaves room in a file name for what stands around it.
_NAME_LENGTH = 120
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
    told: Told
    run: ResolvedRun
    matched: Matched
    dataset: ArtifactRef
    samples_source: str
    """Sample file with the raw answers; empty: none was given."""

    @property
    def config(self) -> RunConfig:
        """The settings that the file stands for."""
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
        SamplesError: all defects of the file, or scores beside it that are not those of its samples.
        ConfigError: the split is told nowhere.
        DatasetError: the tasks cannot be had.
    """
    found, told = read_results(path), told_of(path)
    run = Resolver().up_to_sanitizing(_config(found, told, settings, store, name))
    config, kept = run.config, Store(run.config.store)
    dataset = stages.perform(stages.dataset_stage(run), kept, listener)
    tasks = kept.read(dataset).to_pylist()
    matched = match(
        found,
        tasks,
        known_task_ids=datasets.known_task_ids(config.dataset, datasets.resolve(config.dataset)),
        selection=bool(config.dataset.ids),
        calibrated=told.calibrated,
    )
    config = config.model_copy(
        update={"execution": config.execution.model_copy(update={"variants": (matched.variant,)})}
    )
    return _record(_Import(found, told, replace(run, config=config), matched, dataset, samples), kept, listener)


def _config(found: ResultsFile, told: Told, settings: dict[str, Any], store: Path, name: str) -> RunConfig:
    given = {key: value for key, value in settings.items() if value}
    split = given.get("split") or told.split
    if split is None:
        raise ConfigError(f"{found.path}: neither its name nor a pass_at_k.json beside it tells the split: add --split")
    dataset = given | {"split": split, "subset": given.get("subset") or told.subset or "full"}
    own_name = re.sub(r"[^\w.\-+]", "-", found.stem)[:_NAME_LENGTH]
    return load_settings(
        {
            "name": name or own_name,
            "store": str(store),
            "dataset": dataset,
            "samples": {"source": str(found.path)},
            "sanitizing": {"mode": "none"},
            "execution": {
                "environment": "starter" if dataset.get("source") == "starter" else "bigcodebench",
                # What is known of an environment here says nothing about verdicts of another one.
                "quarantine": "off",
            },
            "aggregation": {"k": sorted({*_K, *told.scores})},
        },
        "import",
    )


def _record(given: _Import, store: Store, listener: stages.Listener) -> ImportedRun:
    run, config, dataset = given.run, given.config, given.dataset
    truths_known = failed_ground_truths(given.told, len({entry.task_id for entry in given.results.entries}))
    samples = stages.perform(_samples_stage(given), store, listener)
    solutions = stages.perform(stages.sanitizing_stage(run, dataset, samples), store, listener)
    truths = None
    if truths_known is not None:
        truths = stages.perform(_ground_truth_stage(given, truths_known), store, listener)
    verdicts = stages.perform(_verdicts_stage(given, solutions), store, listener)
    if truths is None:
        last = _metrics_stage(given, solutions, verdicts)
    else:
        last = stages.aggregation_stage(run, dataset, solutions, truths, verdicts)
    metrics = stages.perform(last, store, listener)
    _require_recorded_scores(given, store.read(metrics))
    artifacts: dict[str, ArtifactRef | None] = {
        "dataset": dataset,
        "generation": samples,
        "sanitizing": solutions,
        "ground_truth": truths,
        "execution": verdicts,
        "aggregation": metrics,
    }
    record = _write_record(given, store, {stage: None if ref is None else ref.key for stage, ref in artifacts.items()})
    results.rebuild_catalog(store.location)
    return ImportedRun(record, config, given.told.model, metrics, truths)


def _samples_stage(given: _Import) -> stages.Stage:
    """The sample file's answers; without one, programs stand in for the answers that nobody kept."""
    settings: dict[str, Any] = {"of": "imported samples", "results_sha256": given.results.sha256}
    if given.samples_source:
        source = SamplesConfig(source=given.samples_source)
        settings |= generation.fingerprint(source)

    def compute(store: Store, _progress: stages.Progress) -> stages.Computed:
        rows = _answers(given, store) if given.samples_source else _programs(given.matched)
        return pa.Table.from_pylist(rows, schema=SAMPLES), {}

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


def _ground_truth_stage(given: _Import, failed: frozenset[str]) -> stages.Stage:
    settings = {"of": "imported ground truths", "failed_tasks": sorted(failed)}

    def compute(store: Store, _progress: stages.Progress) -> stages.Computed:
        rows = [
            ground_truth_verdict(task, passes=task["task_id"] not in failed)
            for task in store.read(given.dataset).to_pylist()
        ]
        return pa.Table.from_pylist(rows, schema=VERDICTS), {}

    return stages.Stage("ground truth", "execution", settings, (given.dataset,), VERSION, compute)


def _verdicts_stage(given: _Import, solutions: ArtifactRef) -> stages.Stage:
    variant = given.matched.variant
    settings = {"of": "imported samples", "results_sha256": given.results.sha256, "variant": variant}

    def compute(store: Store, _progress: stages.Progress) -> stages.Computed:
        tasks = {task["task_id"]: task for task in store.read(given.dataset).to_pylist()}
        rows = [sample_verdict(entry, tasks[entry.task_id], variant=variant) for entry in given.matched.entries]
        return pa.Table.from_pylist(rows, schema=VERDICTS), {}

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
            pq.write_table(pa.Table.from_pylist(rows, schema=VERDICTS), unknown)
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


def _require_recorded_scores(given: _Import, metrics: pa.Table) -> None:
    """Scores beside a file that its samples do not give are of another file, and so may be all else they tell."""
    tasks_of_file = {entry.task_id for entry in given.results.entries}
    if tasks_of_file != {entry.task_id for entry in given.matched.entries}:
        return  # a part of the file has a score of its own
    rows = metrics.to_pylist()
    ours = {row["k"]: row["value"] for row in rows if row["metric"] == "pass@k" and row["slice_kind"] == "all"}
    for k, recorded in given.told.scores.items():
        if k in ours and not math.isclose(ours[k], recorded, rel_tol=1e-9, abs_tol=1e-12):
            raise SamplesError(
                f"{given.results.path}: its samples give pass@{k} {ours[k]}, and the pass_at_k.json beside it says "
                f"{recorded}: the two are not of the same evaluation; move the wrong one away"
            )


def _write_record(given: _Import, store: Store, keys: dict[str, str | None]) -> str:
    """Name the record by the file's date and content, so that an import that is repeated replaces its own record."""
    found, config = given.results, given.config
    moment = found.evaluated_at.isoformat()
    record = {
        "run": config.name,
        "model": given.told.model or config.name,
        "started_at": moment,
        "finished_at": moment,
        "config": config.model_dump(mode="json"),
        "artifacts": keys,
        "imported": {
            "file": found.path.name,
            "sha256": found.sha256,
            "ground_truths": "unknown" if keys["ground_truth"] is None else "told by pass_at_k.json",
        },
    }
    stamp = found.evaluated_at.strftime("%Y%m%dT%H%M%S.%f")
    name = f"{stamp}-{config.name[:_NAME_LENGTH]}-{found.sha256[:12]}"
    store.write(f"runs/{name}.json", json.dumps(record, indent=2).encode())
    return name
