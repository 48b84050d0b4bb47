"""The part of a dataset that a run judges: subset, ids, libraries and domains, each narrowing the one before."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.datasets.tasks import UNKNOWN_LIBRARY_DOMAIN, library_domains

_Row = dict[str, Any]
_RANGE = re.compile(r"(?:.*/)?(\d+)\s*-\s*(?:.*/)?(\d+)")
_SHOWN = 10


def select(rows: Sequence[_Row], config: DatasetConfig, known_task_ids: frozenset[str]) -> list[_Row]:
    """Rows of the TASKS schema that the view keeps, in their own order.

    Args:
        rows: every row of the source.
        config: the view; empty fields keep all.
        known_task_ids: ids that may be named although the source carries only a part of them.

    Raises:
        DatasetError: the view names unknown ids, libraries or domains, or leaves no task.
    """
    kept = [row for row in rows if row["hard"]] if config.subset == "hard" else list(rows)
    if config.ids.strip():
        ids = parse_ids(config.ids, known_task_ids)
        kept = [row for row in kept if row["task_id"] in ids]
    libraries = _known_names("libraries", config.libraries, (name for row in rows for name in row["libs"]))
    kept = [row for row in kept if not libraries or libraries & _folded(row["libs"])]
    own_domains = (name for row in rows for name in row["domains"])
    every_domain = {*library_domains().values(), UNKNOWN_LIBRARY_DOMAIN, *own_domains}
    domains = _known_names("domains", config.domains, every_domain)
    kept = [row for row in kept if not domains or domains & _folded(row["domains"])]
    if not kept:
        view = {
            "subset": config.subset.removeprefix("full"),
            "ids": config.ids.strip(),
            "libraries": ",".join(config.libraries),
            "domains": ",".join(config.domains),
        }
        parts = " and ".join(f"{name} {text}" for name, text in view.items() if text) or "the source"
        raise DatasetError(f"{config.source}: no task is left by {parts}: widen the selection")
    return kept


def parse_ids(text: str, known: Iterable[str]) -> frozenset[str]:
    """Task ids meant by a selection such as '1,5-9,BigCodeBench/12'.

    A number means the tasks whose id ends in it after a slash; a range takes the tasks that exist between its ends.

    Raises:
        DatasetError: an entry means no known task; every such entry is named, with what is valid.
    """
    ids = frozenset(known)
    numbers: dict[int, list[str]] = {}
    for task_id in ids:
        if (tail := task_id.rpartition("/")[2]).isdecimal():
            numbers.setdefault(int(tail), []).append(task_id)
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    found = {entry: _meant(entry, ids, numbers) for entry in entries}
    unknown = [entry for entry in entries if not found[entry]]
    if unknown or not entries:
        valid = f"the ids {', '.join(sorted(ids)[:_SHOWN])}{', …' if len(ids) > _SHOWN else ''}"
        if numbers:
            valid = f"numbers {min(numbers)} to {max(numbers)} and ids such as {min(numbers[min(numbers)])}"
        wrong = ", ".join(unknown) or repr(text)
        raise DatasetError(f"dataset.ids: {wrong} is not in the dataset; valid are {valid}")
    return frozenset().union(*found.values())


def _meant(entry: str, ids: frozenset[str], numbers: dict[int, list[str]]) -> set[str]:
    if entry in ids:
        return {entry}
    if entry.isdecimal():
        return set(numbers.get(int(entry), ()))
    if match := _RANGE.fullmatch(entry):
        first, last = int(match[1]), int(match[2])
        # An end beyond the dataset is a slip of the pen, a gap inside an own dataset is not.
        if numbers and min(numbers) <= first <= last <= max(numbers):
            return {task_id for number in numbers if first <= number <= last for task_id in numbers[number]}
    return set()


def _known_names(field: str, wanted: Sequence[str], available: Iterable[str]) -> frozenset[str]:
    if not wanted:
        return frozenset()
    names = sorted(set(available), key=str.casefold)
    unknown = [name for name in wanted if name.casefold() not in _folded(names)]
    if unknown:
        raise DatasetError(f"dataset.{field}: unknown: {', '.join(unknown)}; known here: {', '.join(names)}")
    return _folded(wanted)


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names)
