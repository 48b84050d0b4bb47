"""Words of texts, and the index of the n-grams of the tasks' texts with their positions in these texts."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]

PARTS = ("complete_prompt", "instruct_prompt", "canonical_solution", "test")
_WORD = re.compile(r"[^\W_]+")
_FACTOR = 0x9E3779B97F4A7C15  # odd, so that no word's bits are lost
_MASK = (1 << 64) - 1
_NO_HASHES: Hashes = np.empty(0, dtype=np.uint64)


class Words(NamedTuple):
    """Words of a text: runs of letters and digits, hashed in lower case; all other characters are ignored."""

    text: str
    hashes: Hashes
    """One hash for each word."""
    starts: NDArray[np.int64]
    """Offset of each word in the text."""
    ends: NDArray[np.int64]

    def passage(self, first: int, last: int) -> str:
        """Return the text from word `first` to word `last`, both included."""
        return self.text[int(self.starts[first]) : int(self.ends[last])]


class Part(NamedTuple):
    """One text of a task."""

    task: int
    """0-based index of the task."""
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
    return [Part(number, words_of(str(task[name]))) for number, task in enumerate(tasks) for name in PARTS]


class NgramIndex:
    """Index of n-grams of one length, without n-grams that many tasks share."""

    def __init__(self, parts: Sequence[Part], length: int, common_tasks: int) -> None:
        self.length = length
        hashes = [ngram_hashes(part.words.hashes, length) for part in parts]
        every = np.concatenate([_NO_HASHES, *hashes])
        number = np.repeat(np.arange(len(parts)), [len(one) for one in hashes])
        within = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(len(one)) for one in hashes)])
        by_task: dict[int, list[Hashes]] = defaultdict(list)
        for part, one in zip(parts, hashes, strict=True):
            by_task[part.task].append(one)
        distinct = [np.unique(np.concatenate(own)) for own in by_task.values()]
        values, n_tasks = np.unique(np.concatenate([_NO_HASHES, *distinct]), return_counts=True)
        kept = np.isin(every, values[n_tasks >= common_tasks], invert=True)
        order = np.argsort(every[kept], kind="stable")
        self._hashes: Hashes = every[kept][order]
        self._parts, self._within = number[kept][order], within[kept][order]
        self.counted = np.split(within[kept], np.searchsorted(number[kept], np.arange(1, len(parts))))
        """For each part, the ascending positions of its n-grams that count."""

    def hits(self, words: Hashes) -> Hits:
        """Return the matches of the n-grams in a corpus text, in the order of its words."""
        wanted = ngram_hashes(words, self.length)
        first = np.searchsorted(self._hashes, wanted, side="left")
        inside = first < len(self._hashes)
        inside[inside] = self._hashes[first[inside]] == wanted[inside]
        at = np.flatnonzero(inside)
        # Most n-grams match nothing, and a second search for all would double the time.
        first, counts = first[at], np.searchsorted(self._hashes, wanted[at], side="right") - first[at]
        entries = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return Hits(np.repeat(at, counts), self._parts[entries], self._within[entries])


def words_of(text: str) -> Words:
    """Split a text into words; ``snake_case`` gives two, so that another spelling is not another content."""
    spans, hashes = list[tuple[int, int]](), list[int]()
    for match in _WORD.finditer(text):
        spans.append(match.span())
        hashes.append(_hash(match[0].lower()))
    places = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return Words(text, np.array(hashes, dtype=np.uint64), places[:, 0], places[:, 1])


@lru_cache(maxsize=200_000)
def _hash(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def ngram_hashes(words: Hashes, length: int) -> Hashes:
    """Hash each run of `length` words by a polynomial of word hashes modulo 2^64; return none for shorter texts."""
    found = np.zeros(max(0, len(words) - length + 1), dtype=np.uint64)
    factor = 1
    for place in range(length):
        found += words[place : place + len(found)] * np.uint64(factor)
        factor = factor * _FACTOR & _MASK
    return found
