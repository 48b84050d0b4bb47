"""Search a corpus for the texts of tasks: shares of n-grams, longest common passages, and most similar passages.

An index contains the n-grams of the tasks' texts, with their positions in these texts.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Words of a seed, a short n-gram that locates similar places; some seeds survive renamed variables.
SEED_WORDS = 3
#: Least share of a part's seeds that a place must contain to be compared with the part.
_LEAST_SEEDS = 0.1
#: Maximum length of a place, as a multiple of the part's length.
_ROOM = 1.25
#: Parts with fewer words are not compared: such short texts have similar places everywhere.
_FEWEST_WORDS = 12
LONGEST_TEXT = 2_000
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
    """Text of a task: a prompt, the canonical solution or the test."""

    task: int
    """0-based index of the task."""
    words: Words


class Hits(NamedTuple):
    """Matches between a corpus text and the tasks' texts: an entry for each pair of positions with equal n-grams."""

    at: Places
    """Index of the word in the corpus text at which the n-gram begins."""
    part: Places
    within: Places
    """Index of the word in the task's text ``part`` at which the n-gram begins."""


def parts_of(tasks: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Return the texts of ``tasks``, rows of TASKS, as parts: for each task, its texts in the order of PARTS."""
    return [Part(number, words_of(str(task[name]))) for number, task in enumerate(tasks) for name in PARTS]


class NgramIndex:
    """Index of the tasks' n-grams of ``length`` words, without n-grams that ``common_tasks`` or more tasks share."""

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
        """For each part, the ascending positions of its n-grams that the index contains."""

    def hits(self, words: Hashes) -> Hits:
        """Return the matches of a corpus text with the index, in word order; ``words`` are the text's hashed words."""
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
    """Split a text into words; ``snake_case`` and ``Snake case`` give the same two words."""
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
    """Hash each run of `length` words by a polynomial of word hashes modulo 2^64; fewer words give no hash."""
    found = np.zeros(max(0, len(words) - length + 1), dtype=np.uint64)
    factor = 1
    for place in range(length):
        found += words[place : place + len(found)] * np.uint64(factor)
        factor = factor * _FACTOR & _MASK
    return found


class Place(NamedTuple):
    """Location and text of a passage in the corpus, with the matching text of the task."""

    file: str
    record: str
    offset: int
    text: str
    task_text: str


class Best(NamedTuple):
    """Best match of a part in the corpus texts that were searched so far."""

    score: float
    """Length of the passage in words, or similarity in 0..1."""
    place: Place


NOTHING = Best(0, Place("", "", -1, "", ""))


class Matches:
    """Matches between all parts and the corpus texts that `add` receives; of equally good matches, the first counts."""

    def __init__(self, parts: Sequence[Part], *, ngram: int, common_tasks: int) -> None:
        self.parts = parts
        self.ngrams = NgramIndex(parts, ngram, common_tasks)
        self._seeds = NgramIndex(parts, SEED_WORDS, common_tasks)
        self.found = [np.zeros(len(part.words.hashes), dtype=bool) for part in parts]
        """For each part, an array that is True at words where an n-gram begins that the corpus contains."""
        self.longest: dict[int, Best] = {}
        """Longest common passage, by index of the part."""
        self.fuzzy: dict[int, Best] = {}
        self._most_seeds = np.zeros(len(parts), dtype=np.int64)

    def add(self, words: Words, file: str, record: str, offset: int = 0) -> None:
        """Add the matches of a corpus text, which begins at character ``offset`` of its record."""

        def place(first: int, last: int, task_text: str) -> Place:
            start = offset + int(words.starts[first])
            return Place(file, record, start, _cut(words.passage(first, last)), _cut(task_text))

        for number, begin, at, length in self._passages(words.hashes):
            mine = self.parts[number].words
            self.found[number][begin : begin + length - self.ngrams.length + 1] = True
            if length > self.longest.get(number, NOTHING).score:
                task_text = mine.passage(begin, begin + length - 1)
                self.longest[number] = Best(length, place(at, at + length - 1, task_text))
        for number, first, last in self._alike(words.hashes):
            mine = self.parts[number].words
            # Compare word by word, including a margin on both sides of the place.
            margin = max(0, len(mine.hashes) - (last - first + 1))
            start, stop = max(0, first - margin), min(len(words.hashes), last + 1 + margin)
            score, begin, end = similarity(mine.hashes, words.hashes[start:stop])
            if score > self.fuzzy.get(number, NOTHING).score:
                self.fuzzy[number] = Best(score, place(start + begin, start + end - 1, mine.text.strip()))

    def _passages(self, hashes: Hashes) -> Iterator[tuple[int, int, int, int]]:
        """Yield (part, first word in part, first word in text, number of words) of each common passage."""
        hits = self.ngrams.hits(hashes)
        if not len(hits.at):
            return
        # On one diagonal, neighbouring n-grams make one passage.
        diagonal = hits.at - hits.within
        order = np.lexsort((hits.at, diagonal, hits.part))
        at, part, within, diagonal = (one[order] for one in (hits.at, hits.part, hits.within, diagonal))
        breaks = (np.diff(part) != 0) | (np.diff(diagonal) != 0) | (np.diff(at) != 1)
        starts = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        lengths = np.diff(np.append(starts, len(at))) + self.ngrams.length - 1
        columns = (one.tolist() for one in (part[starts], within[starts], at[starts], lengths))
        yield from zip(*columns, strict=True)

    def _alike(self, hashes: Hashes) -> Iterator[tuple[int, int, int]]:
        """Yield (part, first word, last word): the passage of the text that shares most seeds with the part.

        A seed is an n-gram of SEED_WORDS words. Parts that share no more seeds than with an earlier text are skipped.
        """
        hits = self._seeds.hits(hashes)
        if not len(hits.at):
            return
        order = np.lexsort((hits.at, hits.part))
        numbers, firsts = np.unique(hits.part[order], return_index=True)
        for number, all_places in zip(numbers.tolist(), np.split(hits.at[order], firsts[1:]), strict=True):
            length, fewest = len(self.parts[number].words.hashes), _LEAST_SEEDS * len(self._seeds.counted[number])
            if length < _FEWEST_WORDS or len(all_places) < fewest:
                continue
            places = np.unique(all_places)
            counts = np.searchsorted(places, places + int(_ROOM * length) + 1) - np.arange(len(places))
            best = int(np.argmax(counts))
            if counts[best] >= fewest and counts[best] > self._most_seeds[number]:
                self._most_seeds[number] = counts[best]
                yield number, int(places[best]), int(places[best + counts[best] - 1]) + SEED_WORDS - 1


def similarity(part: Hashes, place: Hashes) -> tuple[float, int, int]:
    """Return the similarity of a part to its best matching passage in ``place``, and the passage's begin and end.

    The similarity is twice the number of matching words, divided by the number of words of part and passage: the ratio
    of Ratcliff and Obershelp, as in Python's difflib. The passage goes from its first matching word to the last.
    """
    blocks = SequenceMatcher(None, part.tolist(), place.tolist(), autojunk=False).get_matching_blocks()[:-1]
    if not blocks:
        return 0.0, 0, 1
    # Common words that are far away belong to another passage.
    return max(_windows([(block.b, block.size) for block in blocks], len(part)), key=lambda one: one[0])


def _windows(blocks: Sequence[tuple[int, int]], length: int) -> list[tuple[float, int, int]]:
    """Return (ratio, begin, end) of each passage of consecutive ``blocks``; a block is (start, size) in the corpus.

    The task's text has ``length`` words. ``ratio`` is twice the number of matching words, divided by the sum of
    ``length`` and the number of words in the passage. A passage is at most twice as long as the task's text.
    """
    found = []
    for first, (begin, _) in enumerate(blocks):
        common = 0
        for start, size in blocks[first:]:
            common += size
            end = start + size
            if end - begin > 2 * length:
                break
            found.append((2 * common / (length + end - begin), begin, end))
    return found or [(0.0, 0, 1)]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"
