"""Matches of the tasks in a corpus: shares of n-grams, longest passages, and the most similar places."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np

from bigcodeflow.studies.contamination.index import Hashes, Hits, NgramIndex, Part, Words

#: Words of a seed, a short n-gram that locates similar places; some seeds survive renamed variables.
SEED_WORDS = 3
#: Least share of a part's seeds that a place must contain to be compared with the part.
_LEAST_SEEDS = 0.1
#: Length of a place, as a multiple of the part's length.
_ROOM = 1.25
#: Parts with fewer words are not compared: such short texts have similar places everywhere.
_FEWEST_WORDS = 12
LONGEST_TEXT = 2_000


class Place(NamedTuple):
    """Location and text of a passage in the corpus, with the matching text of the task."""

    file: str
    record: str
    offset: int
    text: str
    task_text: str


class Best(NamedTuple):
    """The best match of one part so far."""

    score: float
    """Length of the passage in words, or similarity in 0..1."""
    place: Place


class Matches:
    """Matches of all parts, collected text by text; of equally good matches the first is kept."""

    def __init__(self, parts: Sequence[Part], *, ngram: int, common_tasks: int) -> None:
        self.parts = parts
        self.ngrams = NgramIndex(parts, ngram, common_tasks)
        self._seeds = NgramIndex(parts, SEED_WORDS, common_tasks)
        self.found = [np.zeros(len(part.words.hashes), dtype=bool) for part in parts]
        """For each part, an array that is True at words where an n-gram begins that the corpus contains."""
        self.longest: dict[int, Best] = {}
        """Longest passage by part."""
        self.fuzzy: dict[int, Best] = {}
        self._most_seeds = np.zeros(len(parts), dtype=np.int64)
        self.longest_part = max((len(part.words.hashes) for part in parts), default=0)

    def add(self, words: Words, file: str, record: str, offset: int = 0) -> None:
        """Search one text of the corpus, which begins at `offset` of its record."""
        self._add_passages(words, self.ngrams.hits(words.hashes), file, record, offset)
        self._add_alike(words, self._seeds.hits(words.hashes), file, record, offset)

    def _add_passages(self, words: Words, hits: Hits, file: str, record: str, offset: int) -> None:
        if not len(hits.at):
            return
        # On one diagonal, neighbouring n-grams make one passage.
        diagonal = hits.at - hits.within
        order = np.lexsort((hits.at, diagonal, hits.part))
        at, part, within, diagonal = (one[order] for one in (hits.at, hits.part, hits.within, diagonal))
        breaks = (np.diff(part) != 0) | (np.diff(diagonal) != 0) | (np.diff(at) != 1)
        starts = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        ends = np.concatenate((starts[1:], [len(at)])) - 1
        for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
            number, begin = int(part[first]), int(within[first])
            length = last - first + self.ngrams.length
            mine = self.parts[number].words
            self.found[number][begin : begin + last - first + 1] = True
            if length <= self.longest.get(number, _NOTHING).score:
                continue
            text = words.passage(int(at[first]), int(at[first]) + length - 1)
            start = offset + int(words.starts[at[first]])
            place = Place(file, record, start, _cut(text), _cut(mine.passage(begin, begin + length - 1)))
            self.longest[number] = Best(length, place)

    def _add_alike(self, words: Words, hits: Hits, file: str, record: str, offset: int) -> None:
        if not len(hits.at):
            return
        order = np.lexsort((hits.at, hits.part))
        at, part = hits.at[order], hits.part[order]
        numbers, firsts = np.unique(part, return_index=True)
        for number, all_places in zip(numbers.tolist(), np.split(at, firsts[1:]), strict=True):
            mine, total = self.parts[number].words, len(self._seeds.counted[number])
            if len(mine.hashes) < _FEWEST_WORDS or len(all_places) < _LEAST_SEEDS * total:
                continue
            places = np.unique(all_places)
            room = int(_ROOM * len(mine.hashes)) + 1
            counts = np.searchsorted(places, places + room) - np.arange(len(places))
            best = int(np.argmax(counts))
            # Compare only a place that contains more seeds than any place before.
            if counts[best] < _LEAST_SEEDS * total or counts[best] <= self._most_seeds[number]:
                continue
            self._most_seeds[number] = counts[best]
            first, last = int(places[best]), int(places[best + counts[best] - 1]) + SEED_WORDS - 1
            self._verify(number, words, (first, last), Place(file, record, offset, "", ""))

    def _verify(self, number: int, words: Words, found: tuple[int, int], where: Place) -> None:
        """Compare a part with a place word by word, including a margin on both sides of the place."""
        mine = self.parts[number].words
        margin = max(0, len(mine.hashes) - (found[1] - found[0] + 1))
        first, last = max(0, found[0] - margin), min(len(words.hashes) - 1, found[1] + margin)
        score, begin, end = similarity(mine.hashes, words.hashes[first : last + 1])
        if score <= self.fuzzy.get(number, _NOTHING).score:
            return
        text = words.passage(first + begin, first + end - 1)
        offset = where.offset + int(words.starts[first + begin])
        place = where._replace(offset=offset, text=_cut(text), task_text=_cut(mine.text.strip()))
        self.fuzzy[number] = Best(score, place)


_NOTHING = Best(0, Place("", "", -1, "", ""))


def similarity(part: Hashes, place: Hashes) -> tuple[float, int, int]:
    """Return the similarity of a part to its matching passage in a place, and the passage's begin and end.

    The similarity is twice the common words, in order, over the words of both: the ratio of Ratcliff and Obershelp's
    matching, as Python's difflib computes it. The passage goes from the first common word to the last.
    """
    blocks = SequenceMatcher(None, part.tolist(), place.tolist(), autojunk=False).get_matching_blocks()[:-1]
    if not blocks:
        return 0.0, 0, 1
    # Common words that are far away belong to another passage.
    return max(_windows([(block.b, block.size) for block in blocks], len(part)), key=lambda one: one[0])


def _windows(blocks: Sequence[tuple[int, int]], length: int) -> list[tuple[float, int, int]]:
    """Return (ratio, begin, end) for each run of matching blocks that is not too long."""
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
