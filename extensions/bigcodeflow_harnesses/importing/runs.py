"""Import of a result file as a run of the store: artifacts of the stages of any run, made from the file's content."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow import datasets, generation, results
from bigcodeflow.config import RunConfig, SamplesConfig, load_settings
from bigcodeflow.core.errors import ConfigError, SamplesError
from bigcodeflow.core.progress import Progress
from bigcodeflow.core.schemas import SAMPLES, UNKNOWN, VERDICTS, table_of
from bigcodeflow.core.settings import merged
from bigcodeflow.datasets.sources import raise_problems
from bigcodeflow.pipeline import stages
from bigcodeflow.pipeline.resolution import Content, ResolvedRun, Resolver
from bigcodeflow.results.runs import RecordedRun, recorded_runs
from bigcodeflow.store import ArtifactRef, Store, artifact_key
from bigcodeflow_harnesses.importing import claims
from bigcodeflow_harnesses.importing.reading import ResultsFile, read_results
from bigcodeflow_harnesses.importing.verdict_rows import BACKEND, ground_truth_verdict, sample_verdict

#: Part of every imported artifact's key; bump when the same file gives other rows.
VERSION = 2
_K = (1, 5, 10)
#: Most characters of a run's name in a file name; the rest is for date, key and ending.
_NAME_LENGTH = 120
#: Config sections that the import itself sets; all others describe the evaluation, which took place elsewhere.
_OWN_SECTIONS = ("name", "store", "dataset", "samples", "aggregation")

Row = dict[str, Any]


class ImportedRun(NamedTuple):
    """Run that was made from a file, with the name of its record."""

    record: str
    config: RunConfig
    model: str
    metrics: ArtifactRef
    ground_truth: ArtifactRef | None  # None if the results of the ground truths are not known


@dataclass(frozen=True, slots=True)
class _Import:
    """A result file, with everything that is needed to record it as a run."""

    results: ResultsFile
    scores: claims.Scores
    view: Mapping[str, claims.Value]  # stated fields: model, split and subset, and others that are known
    run: ResolvedRun
    matched: claims.Matched
    dataset: ArtifactRef
    tasks: list[Row]
    known_task_ids: frozenset[str]
    samples_source: str  # sample file with the raw answers; empty if none was given


def import_results(
    path: Path,
    *,
    settings: dict[str, Any],
    store: Path,
    listener: stages.Listener,
    samples: str = "",
    name: str = "",
    resolver: Resolver | None = None,
) -> ImportedRun:
    """Record a result file as a run; the same file again gives the same run.

    Args:
        path: ``*_eval_results.json``, gzipped or not, or a file that a plug-in reads; ``*_pass_at_k.json`` in the same
            folder is read too.
        settings: section 'dataset' of the configuration; the file's name or scores replace missing split and subset.
        store: folder for the artifacts.
        listener: notified of the stages.
        samples: sample file that was evaluated, for the raw answers; empty if there is none.
        name: name of the run; empty takes the file's name.
        resolver: shared with other files of the same dataset, which is then looked up only once; None makes a new one.

    Raises:
        ConfigError: neither the file's name, its scores nor an option states the split.
        SamplesError: all defects of the file; scores that do not fit its samples; or contradictions between its name,
            the scores, options and the store's records of the same file.
    """
    found, scores = read_results(path), claims.scores_of(path)
    named = "the file's name" if path.name.startswith(found.stem) else "its folder's name"
    stated_claims = [
        *claims.claims_of_options(settings, samples=samples, name=name),
        *scores.claims,
        *(claims.Claim(field, value, "the file") for field, value in found.told.items() if "." not in field),
        *claims.claims_of_name(found.stem, named),
        *([] if found.defects else claims.claims_of_samples([entry.task_id for entry in found.entries])),
    ]
    stated = claims.agreed(path, stated_claims)
    if "split" not in stated:
        raise ConfigError(f"{path}: neither its name nor a pass_at_k.json next to it states the split: add --split")
    view: dict[str, claims.Value] = {"model": claims.unnamed_model(found, scores), "subset": "full", **stated}
    view.pop("calibrated", None)
    if not found.defects:  # else samples are missing, and claims.match names all defects
        raise_problems(list(claims.contradictions(scores, path, found.entries)), SamplesError)
    run = (resolver or Resolver()).up_to_sanitizing(
        _config(found, view, scores.pass_at_k, settings, store=store, name=name)
    )
    # Identified by content: gzipped and plain results are the same.
    run = replace(run, contents={**run.contents, "samples": Content({"results_sha256": found.sha256})})
    pinned, answered = run.contents["dataset"].value, frozenset(entry.task_id for entry in found.entries)
    if not found.defects:
        view_of_file = datasets.narrowed(run.config.dataset, pinned, answered)
        run = replace(run, config=run.config.model_copy(update={"dataset": view_of_file}))
    _refuse_other_claims(found, {**view, "model": stated.get("model")}, run.store)
    dataset = stages.perform(stages.stage_of("dataset", run, {}), run.store, listener)
    tasks = run.store.read(dataset).to_pylist()
    known = datasets.known_task_ids(run.config.dataset, pinned)
    matched = claims.match(found, tasks, stated_claims, known)
    execution = run.config.execution.model_copy(update={"variants": (matched.variant,)})
    run = replace(run, config=run.config.model_copy(update={"execution": execution}))
    return _record(_Import(found, scores, view, run, matched, dataset, tasks, known, samples), listener)


def _config(
    found: ResultsFile, view: Mapping[str, claims.Value], k: Iterable[int], settings: Row, *, store: Path, name: str
) -> RunConfig:
    """Make the settings with which the import runs its stages; :func:`_write_record` records some of them."""
    dataset = {key: value for key, value in settings.items() if value}
    return load_settings(
        {
            "name": name or re.sub(r"[^\w.\-+]", "-", found.stem)[:_NAME_LENGTH],
            "store": str(store),
            "dataset": dataset | {"split": view["split"], "subset": view["subset"]},
            "samples": {"source": str(found.path)},
            "sanitizing": {"mode": "none"},
            "aggregation": {"k": sorted({*_K, *k})},
            # Quarantine lists of local environments say nothing about verdicts of another environment.
            "execution": {"quarantine": "off"},
        },
        "import",
    )


def _refuse_other_claims(found: ResultsFile, view: Mapping[str, claims.Value | None], store: Store) -> None:
    """Raise SamplesError if the store already has a run of this file with another split, subset or model."""
    fields = ("model", "split", "subset")
    stated = [claims.Claim(field, value, "this import") for field in fields if (value := view[field]) is not None]
    for run in recorded_runs(store.location):
        if run.imported.get("sha256") == found.sha256:
            values = {"model": run.imported.get("model"), "split": run.split, "subset": run.subset}
            source = f"{store.root / 'runs' / run.record}.json, a record of this same file (if it is wrong, delete it)"
            stated += [claims.Claim(field, value, source) for field, value in values.items() if value is not None]
    claims.agreed(found.path, stated)


def _record(given: _Import, listener: stages.Listener) -> ImportedRun:
    """Write the artifacts of every stage to the store, and the record that names them."""
    dataset, matched, sha256 = given.dataset, given.matched, given.results.sha256
    tasks = {task["task_id"]: task for task in given.tasks}

    def publish(
        title: str, settings: Row, inputs: tuple[ArtifactRef, ...], schema: pa.Schema, rows: Callable[[], list[Row]]
    ) -> ArtifactRef:
        def compute(_store: Store, _progress: Progress) -> stages.Computed:
            return table_of(rows(), schema=schema), {}

        folder = "generation" if title == "generation" else "execution"
        stage = stages.Stage(title, folder, settings, inputs, VERSION, compute)
        return stages.perform(stage, given.run.store, listener)

    answers: dict[str, Any] = {"of": "imported samples", "results_sha256": sha256}
    if given.samples_source:
        answers |= generation.fingerprint(SamplesConfig(source=given.samples_source))
    samples = publish("generation", answers, (dataset,), SAMPLES, lambda: _samples(given))
    solutions = stages.perform(_solutions_stage(given, samples), given.run.store, listener)
    failed = claims.failed_ground_truths(given.scores, len({entry.task_id for entry in given.results.entries}))
    truths = None
    if failed is not None:
        settings = {"of": "imported ground truths", "failed_tasks": sorted(failed)}
        rows = [ground_truth_verdict(task, passes=task_id not in failed) for task_id, task in tasks.items()]
        truths = publish("ground truth", settings, (dataset,), VERDICTS, lambda: rows)
    verdicts = publish(
        "execution",
        {"of": "imported samples", "results_sha256": sha256, "variant": matched.variant},
        (dataset, solutions),
        VERDICTS,
        lambda: [sample_verdict(one, tasks[one.task_id], variant=matched.variant) for one in matched.entries],
    )
    refs = {"dataset": dataset, "generation": samples, "sanitizing": solutions, "execution": verdicts}
    if truths is None:
        last = _aggregation_without_ground_truths(given, solutions, verdicts)
    else:
        refs["ground_truth"] = truths
        last = stages.stage_of("aggregation", given.run, refs)
    refs["aggregation"] = metrics = stages.perform(last, given.run.store, listener)
    artifacts = {"ground_truth": None} | {name: ref.key for name, ref in refs.items()}
    model, unnamed = given.view["model"], claims.unnamed_model(given.results, given.scores)
    origin = {
        "model": None if model == unnamed else model,  # a substitute for the name must not contradict a real name
        "variant": matched.variant,
        "tasks": stages.stage_of("dataset", given.run, {}).settings,
        "samples": answers,
        "failed_ground_truths": None if failed is None else sorted(failed),
    }
    record = _write_record(given, origin, artifacts)
    results.rebuild_catalog(given.run.store.location)
    return ImportedRun(record, given.run.config, str(model), metrics, truths)


def _samples(given: _Import) -> list[Row]:
    """Return the run's sample rows: from the sample file, else from the result file's raw answers or programs."""
    executed = given.matched.solutions
    if not given.samples_source:
        answers = given.results.answers
        return [
            {
                "task_id": task_id,
                "sample_index": index,
                "raw_text": answers.get((task_id, index), solution),
                "given_solution": solution,
                "provider": given.results.harness if (task_id, index) in answers else BACKEND,
                "attempts": 1,
            }
            for (task_id, index), solution in executed.items()
        ]
    config = given.run.config
    rows: list[Row] = generation.load_samples(
        SamplesConfig(source=given.samples_source),
        given.run.store.read(given.dataset),
        known_task_ids=given.known_task_ids,
        selection=bool(config.dataset.ids),
    ).to_pylist()
    claims.check_samples(given.results, given.matched, rows, given.samples_source)
    return [row | {"given_solution": executed[row["task_id"], row["sample_index"]]} for row in rows]


def _solutions_stage(given: _Import, samples: ArtifactRef) -> stages.Stage:
    """Make a sanitizing stage that changes no program; it records the sanitizer as 'unknown'."""
    plain = stages.stage_of("sanitizing", given.run, {"dataset": given.dataset, "generation": samples})

    def compute(store: Store, progress: Progress) -> stages.Computed:
        table, statistics = plain.compute(store, progress)
        place = table.schema.get_field_index("sanitizer")
        return table.set_column(place, table.schema.field(place), [[UNKNOWN] * table.num_rows]), statistics

    return replace(plain, settings={**plain.settings, "of": "imported programs"}, compute=compute)


def _aggregation_without_ground_truths(given: _Import, solutions: ArtifactRef, verdicts: ArtifactRef) -> stages.Stage:
    """Make the aggregation stage for unknown results of ground truths; metrics about ground truths are left out."""
    config = given.run.config
    split, subset = config.dataset.split, config.dataset.subset
    settings: dict[str, Any] = {"k": list(config.aggregation.k), "split": split, "subset": subset}
    settings |= {"ground_truths": "unknown", "results_version": results.VERSION}

    def compute(store: Store, _progress: Progress) -> stages.Computed:
        table = results.aggregate(
            tasks=store.path(given.dataset),
            verdicts=store.path(verdicts),
            ground_truth=None,
            solutions=store.path(solutions),
            split=split,
            subset=subset,
            k=config.aggregation.k,
        )
        return table, {}

    return stages.Stage("aggregation", "aggregation", settings, (given.dataset, solutions, verdicts), VERSION, compute)


def _write_record(given: _Import, origin: Mapping[str, Any], artifacts: Mapping[str, str | None]) -> str:
    """Write the run's record with the file's date, unless the store has an equal record, and return the record's name.

    `origin` states the run's inputs besides the file. Raises SamplesError if the file is recorded under this run's name
    with another origin.
    """
    found, config, store = given.results, given.run.config, given.run.store
    identity = {"sha256": found.sha256, **origin}  # without the path, which may differ at the next import
    key = artifact_key("imported run", 1, {"run": config.name, **given.view, **identity})
    ending = f"-{config.name[:_NAME_LENGTH]}-{key[:12]}"
    moment, recorded = found.evaluated_at, recorded_runs(store.location)
    if earlier := next((run for run in recorded if run.record.endswith(ending)), None):
        if earlier.keys == {stage: key for stage, key in artifacts.items() if key}:
            return earlier.record
        moment = earlier.started_at
    else:
        _refuse_another_origin(given, identity, recorded)
        # Dates are exact to the minute only: among files of the same date, the last import becomes the latest run.
        same = [run.started_at for run in recorded if moment <= run.started_at < moment + timedelta(seconds=1)]
        moment = max([moment, *(other + timedelta(microseconds=1) for other in same)])
    name = f"{moment.strftime('%Y%m%dT%H%M%S.%f')}{ending}"
    known = config.model_dump(mode="json")
    # Unknown settings are null: a default would be a claim about an evaluation by others.
    content = {section: known[section] if section in _OWN_SECTIONS else _nulls(known[section]) for section in known}
    content["generation"]["n_samples"] = given.view.get("n_samples")
    content["generation"]["sampling"]["temperature"] = given.view.get("temperature")
    content["execution"]["variants"] = known["execution"]["variants"]
    content = merged(content, {path: value for path, value in found.told.items() if "." in path}, "import")
    record = {
        "run": config.name,
        "model": given.view["model"],
        "started_at": moment.isoformat(),
        "finished_at": moment.isoformat(),
        "config": content,
        "artifacts": artifacts,
        "imported": {"file": found.path.name, **({"harness": found.harness} if found.harness else {}), **identity},
    }
    dataset = given.run.contents["dataset"].value
    if selection := datasets.selection_of(config.dataset, dataset, len(given.tasks)):
        record["selection"] = selection
    store.write(f"runs/{name}.json", json.dumps(record, indent=2).encode())
    return name


def _refuse_another_origin(given: _Import, identity: Mapping[str, Any], recorded: Iterable[RecordedRun]) -> None:
    """Raise SamplesError if the file was already recorded under this run's name with other inputs."""
    found, name = given.results, given.run.config.name
    for run in recorded:
        if run.run == name and run.imported.get("sha256") == found.sha256:
            other = [one for one in sorted(identity) if run.imported.get(one) != identity[one]]
            raise SamplesError(
                f"{found.path}: was imported before as run {name}, with other {', '.join(other) or 'settings'}, and "
                "a record is never replaced: choose another --name, or delete "
                f"{given.run.store.root / 'runs' / run.record}.json first"
            )


def _nulls(value: Any) -> Any:
    return {name: _nulls(inner) for name, inner in value.items()} if isinstance(value, dict) else None
