"""What a store knows of models: one run of each, on the tasks that link them to one another."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bigcodeflow.core.errors import ArtifactError, ConfigError, error_message
from bigcodeflow.results.catalog.building import CATALOG_NAME, rebuild_catalog
from bigcodeflow.results.formatting import named_model
from bigcodeflow.results.models import Row, readable, rows_of
from bigcodeflow.results.runs import CONTROLS
from bigcodeflow.store import Store, open_store
from bigcodeflow.studies.recommend.libraries import shortened
from bigcodeflow.studies.recommend.likelihood import Outcomes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FEWEST_MODELS = 2
#: The fit's time grows with the cube of their number: five seconds of CPU for fifty.
_MOST_MODELS = 60
#: Marks of runs whose numbers are no scores of their board.
_NO_SCORES = {
    "split_mismatch": "their models were asked the prompts of another split",
    "contradicted": "their tasks show tests that contradict them",
    "task_variants": "their tasks are variants of others",
}


class Selection(NamedTuple):
    """Which runs and tasks count."""

    split: str = ""
    """Empty takes the one that most models have a run of."""
    subset: str = ""
    """'hard' takes the tasks of BigCodeBench-Hard; else all count."""


_ALL = Selection()


class ModelRun(NamedTuple):
    """The run that stands for a model."""

    model: str
    record: str
    cost_usd: float | None
    """Mean price of an answer, as recorded when the model was asked; None: not recorded."""
    latency_seconds: float | None
    """Median time until an answer was complete; None: not recorded."""


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """Outcomes of the models that can be ranked, in the order of their names, and what was left out."""

    runs: Sequence[ModelRun]
    outcomes: Outcomes
    split: str
    notes: tuple[str, ...]
    """Sentences: which runs do not count, and why."""


def evidence_of_store(location: Path | str, selection: Selection = _ALL) -> Evidence:
    """The evidence of a store, whose catalog is built anew where it lacks a run.

    Raises:
        ArtifactError: there is no store, its catalog cannot be read, or as ``read_evidence`` has it.
    """
    import duckdb

    store = open_store(location)
    if store.location == str(store.root) and not store.root.is_dir():
        raise ArtifactError(f"{store.location}: there is no store: run a model first, or name one with --store")
    path = store.root / CATALOG_NAME
    if not _is_current(path, store):
        path = rebuild_catalog(location)
    try:
        with readable(path) as place, duckdb.connect(place, read_only=True) as connection:
            return read_evidence(connection, selection)
    except duckdb.Error as error:
        raise ArtifactError(
            f"{path} cannot be read ({error_message(error)}): build it again with `bigcodeflow catalog --store "
            f"{store.location}`"
        ) from error


def _is_current(path: Path, store: Store) -> bool:
    """Whether a catalog is there that tells of every recorded run."""
    import duckdb

    try:
        with readable(path) as place, duckdb.connect(place, read_only=True) as connection:
            # A catalog of an earlier version lacks the last column.
            told = connection.execute(
                "SELECT record FROM (SELECT record, task_variants FROM runs) UNION SELECT record FROM left_out"
            ).fetchall()
    except duckdb.Error:  # absent, or of another version
        return False
    return {record for (record,) in told if record} == {file.stem for file in store.files("runs")}


def read_evidence(connection: "DuckDBPyConnection", selection: Selection = _ALL) -> Evidence:
    """The evidence in a store's catalog, which the connection uses.

    A model stands once, in its run with most tasks, of several the latest. Controls do not count, nor do runs over
    contradicted tasks, over variants of tasks, or whose model was asked the prompts of another split, nor a task for a
    run in which its own solution failed. Of runs that share no tasks, not even by way of others, only the largest group
    can be ranked; of very many models those that pass most.

    Raises:
        ArtifactError: fewer than two models are left.
        ConfigError: the split or subset is none.
    """
    if selection.split not in ("", "complete", "instruct") or selection.subset not in ("", "full", "hard"):
        raise ConfigError(
            f"split {selection.split!r}, subset {selection.subset!r}: name complete or instruct, and full or hard"
        )
    found = [row for row in rows_of(connection, "recommend/runs") if row["source"] not in CONTROLS]
    sound = [row for row in found if not any(row[mark] for mark in _NO_SCORES)]
    split = selection.split or _split_of_most(sound)
    chosen = _one_of_each([row for row in sound if row["split"] == split])
    outcomes = _outcomes(connection, chosen, only_hard=selection.subset == "hard")
    linked, apart = _linked(outcomes)
    notes = list(_left_out(found))
    if apart:
        names = shortened([outcomes.models[place] for place in apart])
        notes.append(f"Not ranked, as they share no tasks with the others: {names}.")
    if len(linked) < _FEWEST_MODELS:
        wanted = " · ".join(filter(None, (selection.subset, split)))
        raise ArtifactError(
            f"recommend: needs runs of two models or more on common tasks, and there are {len(linked)}"
            f"{f' of {wanted}' if wanted else ''}: run or import other models, or name another split or subset"
        )
    linked, weakest = strongest(outcomes, linked, _MOST_MODELS)
    if weakest:
        names = shortened([outcomes.models[place] for place in weakest])
        notes.append(f"Not ranked, as {_MOST_MODELS} models pass more of their tasks: {names}.")
    judged = np.flatnonzero(np.isfinite(outcomes.shares[linked]).any(axis=0))
    by_model = {run.model: run for run in map(_model_run, chosen)}
    kept = outcomes.kept(linked, list(judged))
    return Evidence([by_model[model] for model in kept.models], kept, split, tuple(notes))


def strongest(outcomes: Outcomes, places: Sequence[int], most: int) -> tuple[list[int], list[int]]:
    """Of the models at these places at most so many, those that pass the largest shares of their tasks; and the others.

    Both in the order of the places.
    """
    shares = np.nanmean(outcomes.shares[list(places)], axis=1)
    kept = {places[one] for one in np.argsort(-shares, kind="stable")[:most]}
    return [place for place in places if place in kept], [place for place in places if place not in kept]


def _left_out(found: Sequence[Row]) -> Iterator[str]:
    """Sentences about runs whose numbers are no scores."""
    for column, reason in _NO_SCORES.items():
        if records := [row["record"] for row in found if row[column]]:
            yield f"Left out, as {reason}: {shortened(records)}."


def _model(row: Row) -> str:
    return str(named_model(row["model"]))


def _model_run(row: Row) -> ModelRun:
    return ModelRun(_model(row), row["record"], row["cost_usd"], row["latency_seconds"])


def _split_of_most(rows: Sequence[Row]) -> str:
    """The split with most models; complete where both have as many."""
    models = {split: {_model(row) for row in rows if row["split"] == split} for split in ("complete", "instruct")}
    return max(models, key=lambda split: len(models[split]))


def _one_of_each(rows: Sequence[Row]) -> list[Row]:
    """The run that stands for each model, in the order of the models' names."""
    best: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (row["n_tasks"], row["started_at"], row["record"])):
        best[_model(row)] = row
    return [best[model] for model in sorted(best)]


def _outcomes(connection: "DuckDBPyConnection", chosen: Sequence[Row], *, only_hard: bool) -> Outcomes:
    """Shares of passing samples of the chosen runs; tasks in the order of the dataset."""
    known = rows_of(connection, "explorer/tasks")
    facts = {row["task_id"]: row for row in known if row["hard"] or not only_hard}
    places = {task_id: place for place, task_id in enumerate(facts)}
    rows = {row["record"]: place for place, row in enumerate(chosen)}
    shares = np.full((len(rows), len(places)), np.nan)
    for row in rows_of(connection, "recommend/shares", {"chosen": json.dumps([_kind(row) for row in chosen])}):
        if row["task_id"] in places:
            shares[rows[row["record"]], places[row["task_id"]]] = row["share"]
    libraries = [frozenset(row["libs"] or ()) for row in facts.values()]
    return Outcomes([_model(row) for row in chosen], list(facts), shares, libraries)


def _kind(row: Row) -> Mapping[str, str | None]:
    names = {"record": "record", "artifact": "execution_key", "truths": "ground_truth_key"}
    return {name: row[column] for name, column in names.items()} | {
        name: row[name] for name in ("variant", "sanitizer")
    }


def _linked(outcomes: Outcomes) -> tuple[list[int], list[int]]:
    """The models of the largest group that tasks link, and all others; of equal groups the one with more tasks."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    judged = np.isfinite(outcomes.shares)
    shared = judged.astype(np.float64) @ judged.T.astype(np.float64)
    _, groups = connected_components(csr_array(shared), directed=False)
    members = [[place for place, group in enumerate(groups) if group == one] for one in dict.fromkeys(groups)]
    members.sort(key=lambda group: (-len(group), -int(judged[group].any(axis=0).sum())))
    largest = [place for place in (members[0] if members else []) if judged[place].any()]
    return largest, [place for place in range(len(outcomes.models)) if place not in largest]
