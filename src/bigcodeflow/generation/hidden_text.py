"""Finds text of a task's test in what a model is about to read.

A model that is told why its answer failed must not be told what is expected of it: every feedback is looked through,
whatever it was made of, before it is sent.
"""

import ast
import re
from collections.abc import Iterable, Sequence

from bigcodeflow.core.untrusted_text import REFUSALS, parse

#: Characters in a row that two texts can hardly share by chance: blanks and quotation marks left out, and with them.
N_GRAM, N_GRAM_AS_WRITTEN = 16, 20
#: Shortest literal, and shortest whole line, that counts by itself.
SHORTEST = 8
#: Formatting that a value's text may differ in from its source.
_LEFT_OUT = re.compile(r"[\s'\"\\]+")
_NAME = "\0"
#: Numbers in a row, with nothing but commas, brackets and blanks between them, that count in any notation.
_NUMBERS_IN_A_ROW = 4
_NUMBER = r"(?<![\w.])-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
_ROW = re.compile(rf"{_NUMBER}(?:[\s,()\[\]]+{_NUMBER})+")


class HiddenText:
    """What of a test must not be told: all of it that a model does not know already."""

    def __init__(self, test: str, known: Iterable[str], names: Sequence[str] = ()) -> None:
        """Compare texts without blanks, quotation marks and backslashes, since a value is printed in other ones.

        Short values with much punctuation between them, as lists of letters are, count as they are written.

        Args:
            test: the test's text.
            known: what the model knows: its task's prompt and its own answers.
            names: names of test methods, which may be told.
        """
        self._names = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)")
        # Apart from one another, so that no two of them make a text that neither holds.
        known = tuple(known)
        known_text = "\1".join(map(_condensed, known))
        self._n_grams = _n_grams(_condensed(test)) - _n_grams(known_text)
        written = _n_grams("\1".join(map(_as_written, known)), N_GRAM_AS_WRITTEN)
        self._written = _n_grams(_as_written(test), N_GRAM_AS_WRITTEN) - written
        self._literals = {text for text in _literals(test) if text not in known_text}
        self._rows = _rows(test).difference(*map(_rows, known))
        lines = {_condensed(line) for line in test.splitlines()}
        self._lines = {line for line in lines if len(line) >= SHORTEST and line not in known_text}

    def found_in(self, text: str) -> str:
        """A piece of the test that the text holds; empty where it holds none."""
        text = self._names.sub(_NAME, text)
        condensed = _condensed(text)
        lines = {_condensed(line) for line in text.splitlines()}
        pieces = (_n_grams(condensed) & self._n_grams) | (lines & self._lines)
        pieces |= _n_grams(_as_written(text), N_GRAM_AS_WRITTEN) & self._written
        pieces |= {str(row) for row in _rows(text) & self._rows}
        return min(pieces, default="") or next((one for one in self._literals if one in condensed), "")


def _condensed(text: str) -> str:
    return _LEFT_OUT.sub("", text)


def _as_written(text: str) -> str:
    return " ".join(text.replace('"', "'").split())


def _n_grams(text: str, length: int = N_GRAM) -> set[str]:
    return {text[start : start + length] for start in range(len(text) - length + 1)}


def _rows(text: str) -> set[tuple[float, ...]]:
    """Numbers that follow one another, as values: arrays are printed in another notation than they are stated in."""
    found = set()
    for row in _ROW.findall(text):
        values = [float(one) for one in re.findall(_NUMBER, row)]
        starts = range(len(values) - _NUMBERS_IN_A_ROW + 1)
        found |= {tuple(values[start : start + _NUMBERS_IN_A_ROW]) for start in starts}
    return found


def _literals(test: str) -> set[str]:
    """Texts and numbers that the test states, condensed, as far as they are long enough to tell them by.

    A text of several lines counts line by line, as reports of differences show it, and whole as Python writes it, with
    what stands there for line ends and for letters that are not printed.
    """
    try:
        tree = parse(test)
    except REFUSALS:  # its n-grams and lines count all the same
        return set()
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    stated = [value for value in values if isinstance(value, str | bytes | int | float) and not isinstance(value, bool)]
    texts = (value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in stated)
    written = (repr(value).removeprefix("b") for value in stated)
    condensed = (_condensed(line) for text in (*texts, *written) for line in text.splitlines())
    return {text for text in condensed if len(text) >= SHORTEST}
