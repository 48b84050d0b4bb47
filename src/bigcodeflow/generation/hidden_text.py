"""Search for text of a task's test in text that a model is about to read.

A model may learn why its answer failed, but not which results the test expects: all feedback is searched before it is
sent, independent of its source.
"""

import ast
import re
from collections.abc import Iterable, Sequence

from bigcodeflow.core.untrusted_text import REFUSALS, parse

#: Characters of an n-gram that two texts hardly share by chance: blanks and quotation marks removed; as written.
N_GRAM, N_GRAM_AS_WRITTEN = 16, 20
#: Minimum length of a literal or of a line that is searched as a whole, in characters.
SHORTEST = 8
#: Characters in which a value's printed text may differ from its source.
_LEFT_OUT = re.compile(r"[\s'\"\\]+")
_NAME = "\0"
#: Length of the sequences of numbers (separated only by commas, brackets and blanks) that are compared by value.
_NUMBERS_IN_A_ROW = 4
_NUMBER = r"(?<![\w.])-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
_ROW = re.compile(rf"{_NUMBER}(?:[\s,()\[\]]+{_NUMBER})+")


class HiddenText:
    """Parts of a test that a model must not see: all text that it does not know already."""

    def __init__(self, test: str, known: Iterable[str], names: Sequence[str] = ()) -> None:
        """Collect the parts, without blanks, quotation marks and backslashes, because these differ in printed values.

        Short values with much punctuation between them, such as lists of letters, are compared as they are written.

        Args:
            test: the test's text.
            known: texts that the model knows: its task's prompt and its own answers.
            names: names of test methods, which the model may see.
        """
        self._names = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)")
        # Separated from each other, so that the end of a text and the start of the next do not match.
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
        """Return a piece of the test that the text contains; empty if it contains none."""
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
    """Return sequences of consecutive numbers as values, because printed arrays differ in notation from source code."""
    found = set()
    for row in _ROW.findall(text):
        values = [float(one) for one in re.findall(_NUMBER, row)]
        starts = range(len(values) - _NUMBERS_IN_A_ROW + 1)
        found |= {tuple(values[start : start + _NUMBERS_IN_A_ROW]) for start in starts}
    return found


def _literals(test: str) -> set[str]:
    """Return the strings and numbers of the test, condensed, if they are long enough to be recognized.

    A string of several lines counts line by line, as reports of differences show it, and as a whole in the form of its
    repr, with escapes for line ends and for characters that cannot be printed.
    """
    try:
        tree = parse(test)
    except REFUSALS:  # its n-grams and lines still count
        return set()
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    stated = [value for value in values if isinstance(value, str | bytes | int | float) and not isinstance(value, bool)]
    texts = (value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in stated)
    written = (repr(value).removeprefix("b") for value in stated)
    condensed = (_condensed(line) for text in (*texts, *written) for line in text.splitlines())
    return {text for text in condensed if len(text) >= SHORTEST}
