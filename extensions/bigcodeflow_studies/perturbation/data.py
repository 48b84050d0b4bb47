"""Variants with other data in their tests, in place of words and numbers that prompts and solution do not contain."""

import ast
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from bigcodeflow.core.source_text import Edit, SourceText, UnsafeError, called_name, edited
from bigcodeflow_studies.perturbation.literals import OPTIONS, some
from bigcodeflow_studies.perturbation.task_texts import TaskTexts

_WORD = re.compile(r"[A-Z]?[a-z]{3,}")
_NUMBER = re.compile(r"[1-9]\d+|\d+\.\d+")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnprstvwz"
#: Marks of texts that are paths, addresses or escapes.
_PATH = re.compile(r"[\\/]")
#: Keyword arguments that set a comparison's tolerance, message or time limit, which are not data.
_NO_DATA = frozenset({"msg", "delta", "places", "rtol", "atol", "tol", "decimal", "err_msg", "timeout"})
#: Number of arguments of an assertion before its message, if it is not two.
_COMPARED = dict.fromkeys(("assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"), 1)
_Place = tuple[int, int]


def other_data(texts: TaskTexts, chance: random.Random) -> TaskTexts:
    """Return the task with other words in the data of its test, or with other numbers if no word can be replaced.

    A new word has as many letters as the old word, with vowels and capitals at the same places; a new number is a
    little larger. A word or number changes everywhere in the test's data. If an expected result depends on the old
    data, the variant is wrong: the execution of its reference solution shows this.

    Raises:
        UnsafeError: prompts or solution contain every word and every number of the test's data.
    """
    source = SourceText(texts.test)
    strings, numbers, inputs = dict[_Place, str](), dict[_Place, str](), set[str]()
    for node, is_expected in _data(source.tree, texts.entry_point):
        segment = source.segment(node)
        if isinstance(node.value, str) and not _PATH.search(segment):
            strings[source.span(node)] = segment
        elif type(node.value) in (int, float):
            numbers[source.span(node)] = segment
            inputs |= set() if is_expected else {segment}
    described = texts.complete_prompt + texts.instruct_prompt + texts.canonical_solution
    if words := some(_free_words(strings.values(), source.tree, described.lower()), chance):
        places, chosen = strings, {one: _like(one, chance, texts.test) for one in words}
    elif free := some(_free_numbers(inputs, described), chance):
        places, chosen = numbers, {one: _larger(one, chance) for one in free}
    else:
        raise UnsafeError("prompts or solution contain every word and number of the test's data: none can change")
    alternatives = "|".join(sorted(map(re.escape, chosen), key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)")
    edits = [Edit(*place, pattern.sub(lambda match: chosen[match[0]], text)) for place, text in places.items()]
    return replace(texts, test=edited(texts.test, edits))


def _free_words(strings: Iterable[str], tree: ast.Module, described: str) -> list[str]:
    """Return the words in ``strings`` to replace: no names, not in ``described`` (prompts and solution, lower case)."""
    names = {getattr(node, "id", getattr(node, "attr", getattr(node, "arg", None))) for node in ast.walk(tree)}
    words = {match[0] for text in strings for match in re.finditer(r"(?<!\w)[A-Za-z]+(?!\w)", text)}
    return sorted(
        one
        for one in words
        if _WORD.fullmatch(one)
        and one.lower() not in OPTIONS
        and one not in names
        and not re.search(rf"(?<![a-z]){one.lower()}(?![a-z])", described)
    )


def _free_numbers(inputs: Iterable[str], described: str) -> list[str]:
    """Return the numbers in ``inputs`` with several digits that are not in ``described``, the prompts and solution."""
    numbers = {text for text in inputs if _NUMBER.fullmatch(text)}
    return sorted(one for one in numbers if not re.search(rf"(?<![\w.]){re.escape(one)}(?!\w|\.\d)", described))


def _data(node: ast.AST, entry_point: str, *, expected: bool = False) -> Iterator[tuple[ast.Constant, bool]]:
    """Yield (literal, True if it is an expected value) for each literal of a test that is data.

    Docstrings, messages, f-strings and the names that mock.patch receives are not data.
    """
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
    match node:
        case ast.Expr(value=ast.Constant()) | ast.JoinedStr():
            return
        case ast.Constant():
            yield node, expected
        case ast.Assign(targets=targets, value=value):
            parts = [value]
            expected = expected or any("expect" in str(getattr(target, "id", "")) for target in targets)
        case ast.Call(func=function, args=arguments, keywords=keywords):
            called = called_name(node)
            data, compared = arguments, _COMPARED.get(called, 2)
            if "patch" in ast.unparse(function):
                data = arguments[1:]
            elif called.startswith("assert"):  # an assertion's message is not data
                data = [*arguments[:compared], *(one for one in arguments[compared:] if not _is_text(one))]
            parts = (function, *data, *(keyword.value for keyword in keywords if keyword.arg not in _NO_DATA))
            expected = called != entry_point and (expected or called.startswith("assert"))
    for part in parts:
        yield from _data(part, entry_point, expected=expected)


def _is_text(node: ast.expr) -> bool:
    """Tell if an argument is a message: a string, an f-string, or a concatenation that begins with either."""
    if isinstance(node, ast.BinOp):
        return _is_text(node.left)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _like(old: str, chance: random.Random, text: str) -> str:
    """Return a random word that is not in `text`, with vowels, consonants and capitals placed as in `old`."""
    while True:
        letters = [chance.choice(_VOWELS if one.lower() in _VOWELS else _CONSONANTS) for one in old]
        new = "".join(letter.upper() if one.isupper() else letter for letter, one in zip(letters, old, strict=True))
        if new != old and new.lower() not in text.lower():
            return new


def _larger(old: str, chance: random.Random) -> str:
    """Return a number slightly above ``old``, with as many digits after the decimal point."""
    whole, point, fraction = old.partition(".")
    if not point:
        return str(int(old) + chance.randint(1, 9))
    digits = str(int(whole + fraction) + chance.randint(1, 9)).rjust(len(fraction) + 1, "0")
    return f"{digits[: -len(fraction)]}.{digits[-len(fraction) :]}"
