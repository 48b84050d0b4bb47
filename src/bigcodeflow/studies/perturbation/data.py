"""Variants with other data in their tests: words and numbers that neither prompt nor solution has."""

import ast
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bigcodeflow.core.source_text import Edit, SourceText, UnsafeError, called_name, edited
from bigcodeflow.studies.perturbation.literals import OPTIONS, some
from bigcodeflow.studies.perturbation.task_texts import TaskTexts

_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_NUMBER = re.compile(r"[1-9]\d+|\d+\.\d+")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnprstvwz"
#: Marks of texts that are paths, addresses or escapes.
_PATH = re.compile(r"[\\/]")
#: Arguments for the comparison or its message, which are not data.
_NO_DATA = frozenset({"msg", "delta", "places", "rtol", "atol", "tol", "decimal", "err_msg", "timeout"})
#: Number of arguments of an assertion before its message, if it is not two.
_COMPARED = dict.fromkeys(("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"), 1)
#: Source of literals by their places.
_Places = dict[tuple[int, int], str]


def other_data(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with other words in the data of its tests, or with other numbers if they have no such words.

    A new word has as many letters, with vowels and capitals at the same places; a new number is a little larger.
    Each is replaced wherever the test has it as data. Expected results that follow from it are then wrong, which
    executing the reference solution shows.

    Raises:
        UnsafeError: the test has no word and no number that prompt and solution lack.
    """
    source = SourceText(texts.test)
    finder = _Data(source, texts.entry_point)
    finder.visit(source.tree)
    described = texts.complete_prompt + texts.instruct_prompt + texts.canonical_solution
    if words := some(_free_words(finder, source.tree, described.lower()), chance):
        places, chosen = finder.texts, {one: _like(one, chance, texts.test) for one in words}
    elif numbers := some(_free_numbers(finder, described), chance):
        places, chosen = finder.numbers, {one: _larger(one, chance) for one in numbers}
    else:
        raise UnsafeError("no word and no number is data of the test alone")
    return replace(texts, test=edited(texts.test, _replaced(places, chosen)))


def _free_words(finder: "_Data", tree: ast.Module, described: str) -> list[str]:
    """Return words of the test's strings that prompt and solution do not have, in any case."""
    names = {getattr(node, "id", getattr(node, "attr", getattr(node, "arg", None))) for node in ast.walk(tree)}
    words = {match[0] for text in finder.texts.values() for match in re.finditer(r"(?<!\w)[A-Za-z]+(?!\w)", text)}
    return sorted(
        one
        for one in words
        if _WORD.fullmatch(one)
        and one.lower() not in OPTIONS
        and one not in names
        and not re.search(rf"(?<![a-z]){one.lower()}(?![a-z])", described)
    )


def _free_numbers(finder: "_Data", described: str) -> list[str]:
    """Return input numbers of two or more digits, or with a fraction, that prompt and solution do not have."""
    numbers = {text for text in finder.inputs if _NUMBER.fullmatch(text)}
    return sorted(one for one in numbers if not re.search(rf"(?<![\w.]){re.escape(one)}(?!\w|\.\d)", described))


def _replaced(places: _Places, chosen: Mapping[str, str]) -> list[Edit]:
    words = "|".join(sorted(map(re.escape, chosen), key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)")
    return [Edit(*place, pattern.sub(lambda match: chosen[match[0]], text)) for place, text in places.items()]


class _Data(ast.NodeVisitor):
    """Collect literals that are data, with their places: no docstrings, no messages, and no names to patch."""

    def __init__(self, source: SourceText, entry_point: str) -> None:
        self._source, self._entry_point, self._expected = source, entry_point, False
        self.texts: _Places = {}
        self.numbers: _Places = {}
        self.inputs: set[str] = set()
        """Source of numbers that occur outside of expected values."""

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip f-strings, which stay as they are."""

    def visit_Call(self, node: ast.Call) -> None:
        called = called_name(node)
        data, compared = node.args, _COMPARED.get(called, 2)
        if "patch" in ast.unparse(node.func):
            data = node.args[1:]
        elif called.startswith("assert"):  # an assertion's message is not data
            data = [*node.args[:compared], *(one for one in node.args[compared:] if not _is_text(one))]
        named = (keyword.value for keyword in node.keywords if keyword.arg not in _NO_DATA)
        expected = called != self._entry_point and (self._expected or called.startswith("assert"))
        self._visit_all((node.func, *data, *named), expected=expected)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = (str(getattr(target, "id", "")) for target in node.targets)
        self._visit_all([node.value], expected=self._expected or any("expect" in name for name in names))

    def _visit_all(self, nodes: Iterable[ast.AST], *, expected: bool) -> None:
        outer, self._expected = self._expected, expected
        for node in nodes:
            self.visit(node)
        self._expected = outer

    def visit_Constant(self, node: ast.Constant) -> None:
        place, segment = self._source.span(node), self._source.segment(node)
        if isinstance(node.value, str) and not _PATH.search(segment):
            self.texts[place] = segment
        elif type(node.value) in (int, float):
            self.numbers[place] = segment
            self.inputs |= set() if self._expected else {segment}


def _is_text(node: ast.expr) -> bool:
    """Tell if an argument is a message, also if it is concatenated with +."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _like(old: str, chance: random.Random, text: str) -> str:
    """Return another word with the same pattern of letters that the text does not have."""
    while True:
        letters = [chance.choice(_VOWELS if one.lower() in _VOWELS else _CONSONANTS) for one in old]
        new = "".join(letter.upper() if one.isupper() else letter for letter, one in zip(letters, old, strict=True))
        if new != old and new.lower() not in text.lower():
            return new


def _larger(old: str, chance: random.Random) -> str:
    """Return a number that is a little larger, with as many digits after its point."""
    whole, point, fraction = old.partition(".")
    if not point:
        return str(int(old) + chance.randint(1, 9))
    digits = str(int(whole + fraction) + chance.randint(1, 9)).rjust(len(fraction) + 1, "0")
    return f"{digits[: -len(fraction)]}.{digits[-len(fraction) :]}"
