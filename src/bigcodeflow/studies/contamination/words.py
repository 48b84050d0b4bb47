"""Split texts into words, and hash runs of these words."""

import hashlib
import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_WORD = re.compile(r"[^\W_]+")
_FACTOR = 0x9E3779B97F4A7C15  # odd, so that no word's bits are lost
_MASK = (1 << 64) - 1


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
    count = len(words) - length + 1
    if count < 1:
        return np.empty(0, dtype=np.uint64)
    found = np.zeros(count, dtype=np.uint64)
    factor = 1
    for place in range(length):
        found += words[place : place + count] * np.uint64(factor)
        factor = factor * _FACTOR & _MASK
    return found
