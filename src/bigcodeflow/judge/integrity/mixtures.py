"""Altered test texts for the check of one program: at random, some test methods are false and the rest are true.

No correct solution passes a false method (contradiction); every correct solution passes a true method (restatement).
A program that does not know the right answers cannot tell false methods from true methods, because the alterations have
the same places and the same forms. With enough texts, each method is true at least once and false in each form.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.core.source_text import called_name
from bigcodeflow.judge.integrity.altered_tests import mixed, units, without_methods
from bigcodeflow.judge.integrity.contradictions import FORMS, Reference, Variant
from bigcodeflow.judge.integrity.operands import Replacement, Source, evaluated_text
from bigcodeflow.judge.integrity.syntax import tree_of

Alterations = tuple[Mapping[str, Any], ...]
"""Rows with the columns of ALTERATION in core/schemas.py."""

#: Largest number of altered texts in one check.
_MOST_TEXTS = 10
_COIN = (False, True)
#: Texts without false methods that decide if failures of true methods only follow from failures of false ones.
_TRUE_TEXTS = 5
_EQUALITIES = frozenset({"assertEqual", "assertEquals"})
#: Share of the equalities that are replaced, and the most wrong values that are added to the stated value.
_SHARE, _WRONG_VALUES = 0.75, 8
#: Half of the wrong numbers are multiples of these, since a cheating object may equal rounded, scaled or many numbers.
_UNITS = (1, 1, 7, 25, 100)
#: Most steps between the stated value and the other half, since a cheating object may equal numbers near the right one.
_NEAR = 9


class Mixture(NamedTuple):
    """Altered text of a test, and the alterations in this text."""

    text: str
    alterations: Alterations
    tests: tuple[str, ...] = ()
    """Names of the test methods in the text; empty if the text has all test methods of the task."""


Pairs = Sequence[tuple[Variant, Variant]]
"""Pairs of a false text (contradictions) and a true text (restatements) of one test; one pair for each form."""


def mixtures(pairs: Pairs, count: int, chance: random.Random) -> list[Mixture]:
    """Return up to ``count`` texts in which random groups of methods are contradicted (false); [] if no method can be.

    A group is the set of methods that share a contradiction, usually a single method. Only valid alterations are used.
    If all tests take too long for one text, each text has a few random groups. Texts without alterations are left out.
    """
    groups = [_groups(false) for false, _ in pairs]
    usable = [form for form, own in enumerate(groups) if own]
    if not usable:
        return []
    bases = _in_turn(usable, count, chance)
    drawn = [pairs[base][0].reference.drawn(groups[base], chance) for base in bases]
    texts = _scheduled(pairs, groups, bases, drawn, chance)
    while not all(map(_is_telling, texts)):
        texts = _scheduled(pairs, groups, bases, drawn, chance)
    found = [_text(pairs, base, choices, chance) for base, choices in zip(bases, texts, strict=True)]
    return [one for one in found if one]


def look_alikes(pairs: Pairs, chance: random.Random) -> list[Mixture]:
    """Return texts that differ only in values: some have no false method, and each of the rest has one false group.

    A group is a set of methods that share a contradiction. Each group with a valid restatement is false once in each
    form; if no group has one, the list is empty. A program that guesses for each text if it has a false group is right
    for all texts with a probability of at most 4^-_TRUE_TEXTS.
    """
    restated = [
        [group for group in _groups(false) if group <= {one["test"] for one in true.alterations}]
        for false, true in pairs
    ]
    usable = [form for form, own in enumerate(restated) if own]
    if not usable:
        return []
    wanted = [(form, {group}) for form in usable for group in restated[form]]
    wanted += [wanted[place % len(wanted)] for place in range(len(wanted), _TRUE_TEXTS)]
    wanted += [(form, set()) for form in _in_turn(usable, _TRUE_TEXTS, chance)]
    found = []
    for form, false in wanted:
        drawn = {*pairs[form][0].reference.drawn(restated[form], chance), *false}
        choices = {group: _Choice(form, group in false, is_only=False) for group in restated[form] if group in drawn}
        found.append(_text(pairs, form, choices, chance))
    return [one for one in found if one]


def separate_mixture(separated: Variant, chance: random.Random) -> Mixture | None:
    """Return the text in which the test calls the program in another process; None if no method can run this way."""
    if not separated.alterations:
        return None
    drawn = separated.reference.drawn([frozenset({one["test"]}) for one in separated.alterations], chance)
    return _reduced(Mixture(separated.altered.text, separated.alterations), separated.reference, drawn)


def texts_needed(pairs: Pairs, fitting: int, probability: float) -> int:
    """Return how many texts lower the chance to guess all false groups to ``probability``; ``fitting`` is the limit."""
    groups = min(filter(None, (len(_groups(false)) for false, _ in pairs)), default=0)
    unlikely = (count for count in range(2, _MOST_TEXTS) if guess_probability(groups, count) <= probability)
    return max(1 if groups > 1 else 2, min(next(unlikely, _MOST_TEXTS), fitting))


def guess_probability(groups: int, count: int) -> float:
    """Return an upper bound of the probability that a program guesses the false groups of each of ``count`` texts.

    A single text has 2^groups - 2 choices, because at least one group is false and one is true. In several texts, each
    group has an independent pattern of false and true; in more than FORMS texts, it is false at least FORMS times, and
    true at least once.
    """
    if count == 1:
        return 1 / (2**groups - 2) if groups > 1 else 1.0
    patterns = 2**count - 1 if count <= FORMS else 2**count - 2 - count
    return float(1 / patterns**groups)


def _groups(false: Variant) -> list[frozenset[str]]:
    contradicted = {one["test"] for one in false.alterations}
    return [group for group in units(false.altered) if group <= contradicted]


class _Choice(NamedTuple):
    """Random choice for a group of methods in one text: the pair of texts to take (``form``), and false or true."""

    form: int
    is_false: bool
    is_only: bool
    """True if the group is in no other text of the check."""


def _is_telling(choices: Mapping[frozenset[str], _Choice]) -> bool:
    """Tell if a text has false and true groups, or need not: it has one group, or all groups are in other texts."""
    return (
        len(choices) == 1
        or not any(one.is_only for one in choices.values())
        or len({one.is_false for one in choices.values()}) > 1
    )


def _scheduled(
    pairs: Pairs,
    groups: Sequence[list[frozenset[str]]],
    bases: Sequence[int],
    drawn: Sequence[list[frozenset[str]]],
    chance: random.Random,
) -> list[dict[frozenset[str], _Choice]]:
    """Return each text's random choices by group of methods; ``bases`` holds each text's form, ``drawn`` its groups."""
    texts: list[dict[frozenset[str], _Choice]] = [{} for _ in drawn]
    for group in dict.fromkeys(group for own in drawn for group in own):
        places = [place for place, own in enumerate(drawn) if group in own]
        forms = _forms(pairs, groups, group)
        for place, choice in zip(places, _choices(forms, len(places), chance), strict=True):
            # Methods of a common helper take the form of the text, as other methods may call it too.
            texts[place][group] = choice if len(group) == 1 else choice._replace(form=bases[place])
    return texts


def _choices(forms: Sequence[int], count: int, chance: random.Random) -> list[_Choice]:
    """Return a group's random choice in each of ``count`` texts: if possible, false in each form and true once."""
    if count == 1:
        return [_Choice(chance.choice(forms), chance.choice(_COIN), is_only=True)]
    least = max(1, min(len(forms), count - 1))
    falsehoods = [False] * count
    while not least <= sum(falsehoods) <= max(count - 1, FORMS):
        falsehoods = [chance.choice(_COIN) for _ in range(count)]
    kinds = {kind: iter(_in_turn(forms, count, chance)) for kind in (False, True)}
    return [_Choice(next(kinds[is_false]), is_false, is_only=False) for is_false in falsehoods]


def _in_turn(numbers: Sequence[int], count: int, chance: random.Random) -> list[int]:
    """Return ``count`` numbers: ``numbers`` in random order, repeated as often as needed."""
    order = chance.sample(numbers, len(numbers))
    return [order[place % len(order)] for place in range(count)]


def _text(pairs: Pairs, base: int, choices: Mapping[frozenset[str], _Choice], chance: random.Random) -> Mixture | None:
    """Return the text that results from ``choices``; None if the text would have no alteration."""
    altered = _unscheduled(pairs, base)
    for group, choice in choices.items():
        text = pairs[choice.form][0 if choice.is_false else 1]
        altered += [(one, text) for one in text.alterations if one["test"] in group]
    if not altered:
        return None
    mixture = _reduced(_mixture(altered), pairs[base][0].reference, list(choices))
    widened, alterations = with_counts(mixture.text, mixture.alterations, chance)
    return mixture._replace(text=widened, alterations=alterations)


def _unscheduled(pairs: Pairs, base: int) -> list[tuple[Mapping[str, Any], Variant]]:
    """Return the restatements of methods that cannot be contradicted; [] if each text holds only some methods."""
    false, true = pairs[base]
    grouped = frozenset[str]().union(*_groups(false))
    others = [one for one in true.alterations if one["test"] not in grouped]
    return [(one, true) for one in others] if false.reference.is_checked_whole else []


def _forms(pairs: Pairs, groups: Sequence[list[frozenset[str]]], group: frozenset[str]) -> list[int]:
    """Return the forms in which a group of methods can be false, preferably only those with a valid restatement."""
    found = [form for form, own in enumerate(groups) if group in own]
    restated = [form for form in found if group <= {one["test"] for one in pairs[form][1].alterations}]
    return restated or found


def _reduced(mixture: Mixture, reference: Reference, drawn: Sequence[frozenset[str]]) -> Mixture:
    """Return the mixture; if all its tests take too long, keep only the methods of the groups in ``drawn``."""
    if reference.is_checked_whole:
        return mixture
    names = frozenset[str]().union(*drawn)
    tests = tuple(name for name in reference.task["expected_tests"] if name in names)
    text = without_methods(mixture.text, frozenset(reference.task["expected_tests"]) - names)
    return Mixture(text, tuple(one for one in mixture.alterations if one["test"] in names), tests)


def _mixture(altered: Sequence[tuple[Mapping[str, Any], Variant]]) -> Mixture:
    """Return the test text with alterations from several variants; in a shared function, contradictions win."""
    ordered = sorted(altered, key=lambda one: one[0]["kind"] == "contradiction")
    task = ordered[0][1].reference.task
    lines = [(one["line"], variant.altered.text) for one, variant in ordered]
    return Mixture(mixed(task["test"], task["entry_point"], lines), tuple(one for one, _ in ordered))


def with_counts(text: str, alterations: Alterations, chance: random.Random) -> tuple[str, Alterations]:
    """Rewrite some equality assertions as counts of equal values; return the new text and its alterations.

    For example, ``assertEqual(f(x), 5)`` becomes ``assertEqual((4, 5, 30).count(f(x)), 1)``. The stated value 5 is
    kept, and the added values are wrong, so that a result object that pretends to equal several values fails. To a
    program that reads the text, the added values say no more about the right value than the stated value.
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
    """Return (value,) of a literal, or of a sum or quotient of literals; None for any other expression."""
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
    """Return up to _WRONG_VALUES random numbers as source, of ``right``'s type, unequal to ``right`` and ``stated``."""
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
