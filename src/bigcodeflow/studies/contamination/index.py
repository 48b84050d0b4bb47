"""Index of the n-grams of the tasks' texts, each with its positions in these texts."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bigcodeflow.studies.contamination.words import Hashes, Words, ngram_hashes, words_of

PARTS = ("complete_prompt", "instruct_prompt", "canonical_solution", "test")
Places = NDArray[np.int64]


class Part(NamedTuple):
    """One text of a task."""

    task: int
    """0-based index of the task."""
    name: str
    words: Words


class Hits(NamedTuple):
    """Matches between a corpus text and the parts: one entry for each pair of positions with the same n-gram."""

    at: Places
    """Index of the corpus word at which the n-gram begins."""
    part: Places
    within: Places
    """Index of the part's word at which the n-gram begins."""


def parts_of(tasks: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Return the texts of rows of TASKS as parts."""
    return [Part(number, name, words_of(str(task[name]))) for number, task in enumerate(tasks) for name in PARTS]


class NgramIndex:
    """Index of n-grams of one length, without n-grams that many tasks share."""

    def __init__(self, parts: Sequence[Part], length: int, common_tasks: int) -> None:
        self.length = length
        hashes = [ngram_hashes(part.words.hashes, length) for part in parts]
        every = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64)
        number = np.repeat(np.arange(len(parts)), [len(one) for one in hashes])
        within = np.concatenate([np.arange(len(one)) for one in hashes]) if hashes else np.empty(0, dtype=np.int64)
        tasks = np.array([part.task for part in parts], dtype=np.int64)[number]
        kept = np.isin(every, _common(every, tasks, common_tasks), invert=True)
        order = np.argsort(every[kept], kind="stable")
        self._hashes: Hashes = every[kept][order]
        self._parts, self._within = number[kept][order], within[kept][order]
        self.counted = self._counted(len(parts))
        """For each part, the ascending positions of its n-grams that count."""

    def _counted(self, n_parts: int) -> list[Places]:
        order = np.lexsort((self._within, self._parts))
        borders = np.searchsorted(self._parts[order], np.arange(1, n_parts))
        return np.split(self._within[order], borders)

    def hits(self, words: Hashes) -> Hits:
        """Return the matches of the n-grams in a corpus text, in the order of its words."""
        wanted = ngram_hashes(words, self.length)
        first = np.searchsorted(self._hashes, wanted, side="left")
        inside = first < len(self._hashes)
        inside[inside] = self._hashes[first[inside]] == wanted[inside]
        at = np.flatnonzero(inside)
        first = first[at]
        counts = np.searchsorted(self._hashes, wanted[at], side="right") - first
        entries = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(counts.sum())
        return Hits(np.repeat(at, counts), self._parts[entries], self._within[entries])


def _common(hashes: Hashes, tasks: Places, common_tasks: int) -> Hashes:
    """Return the hashes that at least `common_tasks` different tasks have."""
    if not len(hashes):
        return hashes
    order = np.lexsort((tasks, hashes))
    sorted_hashes, sorted_tasks = hashes[order], tasks[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (sorted_hashes[1:] != sorted_hashes[:-1]) | (sorted_tasks[1:] != sorted_tasks[:-1])
    values, counts = np.unique(sorted_hashes[new], return_counts=True)
    return values[counts >= common_tasks]
