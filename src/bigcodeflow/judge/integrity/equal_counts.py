"""Replace equalities by counts of equal values, which results that claim to equal several values fail."""

import ast
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from bigcodeflow.core.source_text import called_name
from bigcodeflow.judge.integrity.operands import Replacement, Source, evaluated_text
from bigcodeflow.judge.integrity.syntax import tree_of

Alterations = tuple[Mapping[str, Any], ...]
"""Rows as in ALTERATION."""

_EQUALITIES = frozenset({"assertEqual", "assertEquals"})
#: Share of the equalities that are replaced, and the most wrong values that are added to the stated value.
_SHARE, _WRONG_VALUES = 0.75, 8
#: Half of the wrong numbers are multiples of these, since a cheating object may equal rounded, scaled or many numbers.
_UNITS = (1, 1, 7, 25, 100)
#: Most steps between the stated value and the other half, since a cheating object may equal numbers near the right one.
_NEAR = 9


def with_counts(text: str, alterations: Alterations, chance: random.Random) -> tuple[str, Alterations]:
    """Replace some equalities with an altered number by counts of equal values; return text and alterations.

    ``assertEqual(f(x), 5)`` becomes ``assertEqual((4, 5, 30).count(f(x)), 1)``: the stated value is right or wrong as
    before, and the added values are wrong. A program that reads the text must not learn the right value, so the added
    values tell no more about it than the stated value does.
    """
    module = tree_of(text)
    if module is None:
        return text, alterations
    source = Source(text)
    calls: dict[int, list[ast.Call]] = defaultdict(list)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _has_two_operands(node):
            calls[source.line(source.span(node.args[1])[0])].append(node)
    changes: list[Replacement] = []
    found: list[Mapping[str, Any]] = []
    places: dict[tuple[int, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for one in alterations:  # a helper's equality may decide several methods
        places[one["line"], one["before"], one["after"]].append(one)
    for (line, before, after), decided in places.items():
        right = evaluated_text(before)
        stated = evaluated_text(after) if decided[0]["kind"] == "contradiction" else right
        equalities = [call for call in calls[line] if stated and _folded(call.args[1]) == stated]
        words, is_drawn = after, len(equalities) == 1 and chance.random() < _SHARE
        if is_drawn and right and stated and type(right[0]) in (int, float):
            wrong = _wrong_values(right[0], stated[0], chance)
            changes += _changes(source, equalities[0], wrong, chance)
            words = f"one of {', '.join([after, *wrong])}" if decided[0]["kind"] == "contradiction" else after
        found += [{**one, "after": words} for one in decided]
    return source.altered(changes), tuple(found)


def _has_two_operands(call: ast.Call) -> bool:
    is_plain = len(call.args) > 1 and not any(isinstance(one, ast.Starred) for one in call.args)
    return is_plain and called_name(call) in _EQUALITIES


def _folded(node: ast.expr) -> tuple[Any] | None:
    """Return the value of a literal or of a sum or quotient of literals, in a tuple; None for another expression."""
    match node:
        case ast.Constant(value=value):
            return (value,)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return (-value,)
        case ast.BinOp(left=first, op=ast.Add() | ast.Div() as operator, right=second):
            left, right = _folded(first), _folded(second)
            if left and right and isinstance(left[0], int | float) and isinstance(right[0], int | float):
                return (left[0] + right[0] if isinstance(operator, ast.Add) else left[0] / right[0],)
    return None


def _wrong_values(right: float, stated: float, chance: random.Random) -> list[str]:
    """Draw up to _WRONG_VALUES numbers, as source, of the right value's type, that differ from both values."""
    numbers = [chance.choice(_UNITS) * chance.randint(-3, 40) for _ in range(_WRONG_VALUES // 2)]
    shares = (chance.randint(0, 9) / 10 if isinstance(right, float) else 0 for _ in numbers)
    drawn = [type(right)(number + share) for number, share in zip(numbers, shares, strict=True)]
    step = 10.0 ** -len(repr(stated).partition(".")[2]) if isinstance(stated, float) else 1
    near = [stated + step * chance.choice((-1, 1)) * chance.randint(1, _NEAR) for _ in range(_WRONG_VALUES // 2)]
    values = dict.fromkeys(type(right)(number) for number in chance.sample(drawn + near, _WRONG_VALUES))
    return [repr(number) for number in values if number not in (right, stated)]


def _changes(source: Source, call: ast.Call, wrong: Sequence[str], chance: random.Random) -> list[Replacement]:
    first, (start, end) = source.span(call.args[0]), source.span(call.args[1])
    values = [*wrong]
    values.insert(chance.randint(0, len(wrong)), source.slice(start, end))
    return [
        Replacement(first[0], first[0], f"({', '.join(values)},).count(", 0),
        Replacement(first[1], first[1], ")", 0),
        Replacement(start, end, "1", 0),
    ]
