"""Read the evidence for a ranking from a store: a run for each model, and the tasks that all models share."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bigcodeflow.core.errors import ArtifactError, ConfigError, error_message
from bigcodeflow.results.catalog.building import CATALOG_NAME, rebuild_catalog
from bigcodeflow.results.formatting import named_model
from bigcodeflow.results.models import Row, readable, rows_from, rows_of
from bigcodeflow.results.runs import CONTROLS
from bigcodeflow.store import Store, open_store
from bigcodeflow.studies.records import grouped
from bigcodeflow_studies.recommend.ranking import Array, Evidence, ModelRun, Outcomes
from bigcodeflow_studies.recommend.stack import shortened

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FEWEST_MODELS = 2
#: Least share of the common tasks on which a model must be judged: a run may have samples that are not judged.
_LEAST_JUDGED = 0.95
#: Maximum number of ranked models; nobody reads a longer ranking.
_MOST_MODELS = 60
#: Columns that mark runs whose numbers are not scores of the benchmark, with the reason.
_NO_SCORES = {
    "split_mismatch": "their models were asked the prompts of another split",
    "contradicted": "their tasks show tests that contradict them",
    "task_variants": "their tasks are variants of others",
}


def evidence_of_store(location: Path | str, split: str = "", subset: str = "") -> Evidence:
    """Return the evidence in a store, see `read_evidence`; rebuild the store's catalog if the catalog is outdated.

    Raises:
        ArtifactError: the store does not exist, its catalog cannot be read, or ``read_evidence`` raises it.
    """
    import duckdb

    store = open_store(location)
    if store.location == str(store.root) and not store.root.is_dir():
        raise ArtifactError(f"{store.location}: there is no store: run a model first, or name another with --store")
    path = store.root / CATALOG_NAME
    if not _is_current(path, store):
        path = rebuild_catalog(location)
    try:
        with readable(path) as place, duckdb.connect(place, read_only=True) as connection:
            return read_evidence(connection, split, subset)
    except duckdb.Error as error:
        raise ArtifactError(
            f"{path} cannot be read ({error_message(error)}): build it again with `bigcodeflow catalog --store "
            f"{store.location}`"
        ) from error


def _is_current(path: Path, store: Store) -> bool:
    """Tell if the catalog exists, has this version's columns, and contains exactly the runs that the store records."""
    import duckdb

    try:
        with readable(path) as place, duckdb.connect(place, read_only=True) as connection:
            # A catalog of an earlier version lacks this column.
            told = connection.execute(
                "SELECT record FROM (SELECT record, archived FROM runs) UNION SELECT record FROM left_out"
            ).fetchall()
    except duckdb.Error:  # absent, or of another version
        return False
    return {record for (record,) in told if record} == {file.stem for file in store.files("runs")}


def read_evidence(connection: "DuckDBPyConnection", split: str = "", subset: str = "") -> Evidence:
    """Return the evidence in a store's catalog, read through an open connection.

    An empty ``split`` selects the split for which most models have runs; subset 'hard' selects BigCodeBench-Hard.

    Each model counts once: with its run on most tasks, or the latest of such runs. Left out are controls; runs over
    contradicted tasks or variants of tasks; runs whose model was asked the prompts of another split; runs judged only
    raw, if another run was calibrated; and, for each run, tasks whose reference solution failed. Models are ranked on
    their common tasks: a run of the hard tasks only is not compared with runs of all tasks. If more than
    ``_MOST_MODELS`` models are left, the models with the highest pass rates are ranked.

    Raises:
        ArtifactError: fewer than two models are left.
        ConfigError: the split or subset is unknown.
    """
    if split not in ("", "complete", "instruct") or subset not in ("", "full", "hard"):
        raise ConfigError(
            f"split {split!r} or subset {subset!r} is unknown: use split complete or instruct, and subset full or hard"
        )
    split, chosen, notes = _chosen_runs(_rows(connection, "runs"), split)
    outcomes = _outcomes(connection, chosen, only_hard=subset == "hard")
    ranked, tasks = common_tasks(outcomes)
    counts = np.isfinite(outcomes.shares).sum(axis=1)
    judged = [f"{row['model']} ({n:,})" for row, n in zip(chosen, counts, strict=True)]
    others = f"Not ranked, as they were not judged on the {len(tasks):,} tasks of the others"
    notes += _note(others, [text for place, text in enumerate(judged) if place not in ranked])
    if len(ranked) < _FEWEST_MODELS:
        raise ArtifactError(
            f"recommend: needs runs of two models or more on common tasks, but {subset or 'full'} · {split} has "
            f"{shortened(judged) or 'none'}: run or import more models, or name another split or subset (numbers in "
            "brackets: a model's judged tasks)"
        )
    ranked, weakest = strongest(outcomes.shares[:, tasks], ranked, _MOST_MODELS)
    names = [chosen[place]["model"] for place in weakest]
    notes += _note(f"Not ranked, as {_MOST_MODELS} models pass more of their tasks", names)
    runs = [ModelRun(*(chosen[place][name] for name in ModelRun._fields)) for place in ranked]
    kept = Outcomes(
        [outcomes.task_ids[place] for place in tasks],
        outcomes.shares[np.ix_(ranked, tasks)],
        [outcomes.libraries[place] for place in tasks],
    )
    return Evidence(runs, kept, split, tuple(notes))


def _chosen_runs(rows: Iterable[Row], split: str) -> tuple[str, list[Row], list[str]]:
    """Return the split, the chosen run of each model, sorted by model, and notes on the runs that do not count."""
    found = [row | {"model": str(named_model(row["model"]))} for row in rows if row["source"] not in CONTROLS]
    notes: list[str] = []
    for column, reason in _NO_SCORES.items():
        notes += _note(f"Left out, as {reason}", [row["record"] for row in found if row[column]])
    sound = [row for row in found if not any(row[mark] for mark in _NO_SCORES)]
    models = {one: {row["model"] for row in sound if row["split"] == one} for one in ("complete", "instruct")}
    split = split or max(models, key=lambda one: len(models[one]))
    alike = [row for row in sound if row["split"] == split]
    raw = [row["record"] for row in alike if row["variant"] != "calibrated"]
    if len(raw) < len(alike):
        notes += _note("Left out, as they were judged raw alone", raw)
        alike = [row for row in alike if row["record"] not in raw]
    by_model = grouped(sorted(alike, key=itemgetter("model", "n_tasks", "started_at", "record")), itemgetter("model"))
    chosen = [of_model[-1] for of_model in by_model.values()]
    several = [
        f"{row['model']} ({row['setting']})"
        for row in chosen
        if len({one["setting_key"] for one in by_model[row["model"]]}) > 1
    ]
    notes += _note("Of models with runs in several settings one run counts, that of most tasks", several)
    return split, chosen, notes


def _rows(connection: "DuckDBPyConnection", model: str, parameters: Mapping[str, str] | None = None) -> Iterator[Row]:
    query = Path(__file__).with_name(f"{model}.sql").read_text(encoding="utf-8")
    return rows_from(connection.execute(query, parameters))


def _note(text: str, names: Sequence[str]) -> list[str]:
    return [f"{text}: {shortened(names)}."] if names else []


def strongest(shares: Array, places: Sequence[int], most: int) -> tuple[list[int], list[int]]:
    """Split ``places``, row numbers of ``shares``, into the ``most`` rows with the best pass rates and the rest."""
    rates = np.nanmean(shares[list(places)], axis=1)
    kept = {places[one] for one in np.argsort(-rates, kind="stable")[:most]}
    return [place for place in places if place in kept], [place for place in places if place not in kept]


def _outcomes(connection: "DuckDBPyConnection", chosen: Sequence[Row], *, only_hard: bool) -> Outcomes:
    """Return the shares of passing samples of the chosen runs, with tasks in the order of the dataset."""
    known = rows_of(connection, "explorer/tasks")
    facts = {row["task_id"]: row for row in known if row["hard"] or not only_hard}
    places = {task_id: place for place, task_id in enumerate(facts)}
    rows = {row["record"]: place for place, row in enumerate(chosen)}
    shares = np.full((len(rows), len(places)), np.nan)
    names = ("record", "artifact", "truths", "variant", "sanitizer")
    asked = json.dumps([{name: row[name] for name in names} for row in chosen])
    for row in _rows(connection, "shares", {"chosen": asked}):
        if row["task_id"] in places:
            shares[rows[row["record"]], places[row["task_id"]]] = row["share"]
    libraries = [frozenset(row["libs"] or ()) for row in facts.values()]
    return Outcomes(list(facts), shares, libraries)


def common_tasks(outcomes: Outcomes) -> tuple[list[int], list[int]]:
    """Return the row indices of the models that can be ranked, and the column indices of their common tasks.

    A run covers each model that is judged on at least the share ``_LEAST_JUDGED`` of the run's tasks. The run with the
    largest product of tasks and covered models decides: its covered models can be ranked. A task is common if at least
    the share ``_LEAST_JUDGED`` of these models is judged on the task.
    """
    judged = np.isfinite(outcomes.shares)
    if not judged.any():
        return [], []
    n_tasks = judged.sum(axis=1)
    shared = judged.astype(np.int64) @ judged.T.astype(np.int64)
    covers = (shared >= _LEAST_JUDGED * n_tasks[:, None]) & (n_tasks[:, None] > 0)
    n_models = covers.sum(axis=1)
    # If no run is covered by another model, the number of tasks decides.
    best = np.lexsort((n_tasks, n_models * n_tasks, n_models >= _FEWEST_MODELS))[-1]
    ranked = np.flatnonzero(covers[best])
    tasks = np.flatnonzero(judged[ranked].mean(axis=0) >= _LEAST_JUDGED)
    return ranked.tolist(), tasks.tolist()
