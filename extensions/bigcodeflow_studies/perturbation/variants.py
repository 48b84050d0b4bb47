"""Variants of a task with the same meaning: the kinds of changes, and random variants from a seed."""

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bigcodeflow.core.schemas import VARIANT_SEPARATOR
from bigcodeflow.core.source_text import UnsafeError
from bigcodeflow.datasets.sources import SourceRow
from bigcodeflow.datasets.tasks import validate
from bigcodeflow_studies.perturbation.data import other_data
from bigcodeflow_studies.perturbation.docstrings import reworded
from bigcodeflow_studies.perturbation.literals import other_literals
from bigcodeflow_studies.perturbation.renaming import renamed_function, renamed_parameters
from bigcodeflow_studies.perturbation.task_texts import TaskTexts

#: Changes by kind, in the order in which a combination makes them.
KINDS: Mapping[str, Callable[[TaskTexts, random.Random], TaskTexts]] = {
    "function": renamed_function,
    "parameters": renamed_parameters,
    "literals": other_literals,
    "docstring": reworded,
    "data": other_data,
}
#: Kinds whose variants may fail when they are executed, so that more are made than are needed.
_UNSURE = frozenset({"literals", "data"})
_SPARE = 3
#: Maximum number of draws for each wanted variant, since a draw may repeat an earlier variant.
_DRAWS = 4


def original_of(task_id: str) -> tuple[str, str]:
    """Return the id of the task from which a variant was made, and its kind; an original has an empty kind."""
    original, _, name = task_id.partition(VARIANT_SEPARATOR)
    return original, name.rpartition(".")[0]


def kind_order(kind: str) -> tuple[int, str]:
    """Return the sort key of a kind in tables: single kinds in the order of KINDS, then combinations by name."""
    return list(KINDS).index(kind) if kind in KINDS else len(KINDS), kind


def checked_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return kinds and combinations such as 'function+docstring', each once, with its parts in the order of KINDS.

    Raises:
        ValueError: a kind is unknown, or none is given.
    """
    found = list[str]()
    for kind in kinds:
        parts = kind.split("+")
        if unknown := [part for part in parts if part not in KINDS]:
            raise ValueError(f"{unknown[0]!r} is not one of {', '.join(KINDS)}: use these, as in function+data")
        found.append("+".join(one for one in KINDS if one in parts))
    if not found:
        raise ValueError(f"no kind is given: name some of {', '.join(KINDS)}")
    return tuple(dict.fromkeys(found))


def variants_of(task: Mapping[str, Any], kind: str, *, seed: int, per_task: int) -> Iterator[TaskTexts]:
    """Yield different variants of ``kind`` of ``task``, a row of TASKS; the same seed gives the same variants.

    A variant's id is the original's id, the kind and a number from 1, as in BigCodeBench/12~function.1. More than
    ``per_task`` variants are yielded for kinds whose variants may turn out to be invalid when they are executed.
    """
    original, seen = TaskTexts.of(task), set[str]()
    wanted = per_task + (_SPARE if _UNSURE & set(kind.split("+")) else 0)
    for draw in range(_DRAWS * wanted):
        digest = hashlib.sha256(f"{seed}\0{original.task_id}\0{kind}\0{draw}".encode()).digest()
        try:
            changed = _changed(original, kind, random.Random(digest))  # noqa: S311 - no secrets
        except UnsafeError:
            continue
        if (text := changed.every_text()) in seen:
            continue
        seen.add(text)
        yield replace(changed, task_id=f"{original.task_id}{VARIANT_SEPARATOR}{kind}.{len(seen)}")
        if len(seen) == wanted:
            return


def _changed(texts: TaskTexts, kind: str, chance: random.Random) -> TaskTexts:
    """Apply all changes of a kind or combination in turn; raise UnsafeError if the result is no valid task."""
    changed = texts
    for part in kind.split("+"):
        changed = KINDS[part](changed, chance)
    if validate([SourceRow("variant", {**changed.columns(), "libs": "[]"})]):
        raise UnsafeError("the changed texts are not a valid task")
    return changed
