"""Correct tasks by the user's file ``dataset.overlay`` and, in the verified view, by the shipped errata."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errata import correction_of, facts_sha256, is_left_out, task_sha256
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.paths import user_path
from bigcodeflow.core.schemas import HUB_COLUMNS
from bigcodeflow.datasets.sources import SUFFIXES, FileSource, ResolvedDataset, SourceRow, raise_problems, read_rows

#: Column of a correction that changes nothing: the `task_sha256` of the texts for which it was written.
_OF_TEXTS = "task_sha256"
#: Column of a task, and the column that is derived from it: computed again if a correction changes the first.
_DERIVED: Mapping[str, str] = {"test": "expected_tests", "libs": "domains"}


def resolved(source: ResolvedDataset, config: DatasetConfig) -> ResolvedDataset:
    """Return ``source`` with the hashes of overlay and, in the verified view, errata added to its fingerprint."""
    fingerprint, describe = dict(source.fingerprint), source.describe
    if config.overlay:
        overlay = _overlay(config).resolve(config)
        fingerprint["overlay"] = overlay.fingerprint
        describe += f"; overlay: {overlay.describe}"
    if config.view == "verified":
        fingerprint["errata_sha256"] = facts_sha256()
        describe += "; verified"
    return source._replace(fingerprint=fingerprint, describe=describe)


def amended(rows: Sequence[SourceRow], config: DatasetConfig, pinned: ResolvedDataset) -> list[SourceRow]:
    """Return the rows with the corrections of the overlay and then, in the verified view, of the shipped errata."""
    found = list(rows)
    if config.overlay:
        found = _overlaid(found, config, pinned)
    if config.view == "verified":
        found = [_changed(row, row.place, correction_of(row.values)) if _is_task(row) else row for row in found]
    return found


def kept(tasks: Sequence[dict[str, Any]], config: DatasetConfig) -> list[dict[str, Any]]:
    """Return the tasks; in the verified view, without the tasks that the errata leave out."""
    return [task for task in tasks if not is_left_out(task)] if config.view == "verified" else list(tasks)


def _overlay(config: DatasetConfig) -> FileSource:
    if not config.overlay.endswith(SUFFIXES):
        raise DatasetError(f"dataset.overlay: {config.overlay}: is not a task file: use {', '.join(SUFFIXES)}")
    return FileSource(user_path(config.overlay), f"dataset.overlay: {config.overlay}", "dataset.overlay")


def _overlaid(rows: Sequence[SourceRow], config: DatasetConfig, pinned: ResolvedDataset) -> list[SourceRow]:
    # The file is read only while its content is the pinned one.
    own = ResolvedDataset(pinned.fingerprint["overlay"], "", ())
    corrections = [row for path in _overlay(config).fetch(config, own) for row in read_rows(path)]
    by_id = {task_id: row for row in rows if isinstance(task_id := row.values.get("task_id"), str)}
    changed: dict[str, SourceRow] = {}
    problems: list[str] = []
    for row in corrections:
        problems += _problems(row, by_id)
        task_id = str(row.values.get("task_id"))
        if task_id in changed:
            problems.append(f"{row.place} ({task_id}): is corrected in {changed[task_id].place} already: keep one row")
        changed.setdefault(task_id, row)
    raise_problems(problems)
    return [
        _changed(row, changed[task_id].place, changed[task_id].values) if task_id in changed else row
        for task_id, row in ((str(row.values.get("task_id")), row) for row in rows)
    ]


def _problems(row: SourceRow, by_id: Mapping[Any, SourceRow]) -> Iterator[str]:
    task_id, values = row.values.get("task_id"), row.values
    corrected = by_id.get(task_id) if isinstance(task_id, str) else None
    if corrected is None:
        yield f"{row.place}: corrects {task_id!r}, which the dataset does not have: remove the row, or correct the id"
        return
    unknown = sorted(set(values) - {*HUB_COLUMNS, "hard", "domains", "expected_tests", _OF_TEXTS})
    if unknown:
        yield f"{row.place} ({task_id}): has unknown columns {', '.join(unknown)}: use {', '.join(HUB_COLUMNS)}"
    wanted = values.get(_OF_TEXTS)
    if wanted is not None and _is_task(corrected) and task_sha256(corrected.values) != wanted:
        yield f"{row.place} ({task_id}): is for another text of this task: compare the texts, and correct {_OF_TEXTS}"


def _is_task(row: SourceRow) -> bool:
    """Tell if each column that `task_sha256` hashes holds text; `validate` later reports a column that does not."""
    return all(isinstance(row.values.get(name), str) for name in HUB_COLUMNS if name not in ("libs", "doc_struct"))


def _changed(row: SourceRow, place: str, correction: Mapping[str, Any]) -> SourceRow:
    fields = {name: value for name, value in correction.items() if value is not None and name != _OF_TEXTS}
    if not fields:
        return row
    follows = {column: None for name, column in _DERIVED.items() if name in fields and column not in fields}
    return SourceRow(place, {**row.values, **follows, **fields})
