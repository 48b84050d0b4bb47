"""Texts for the check of one program: some methods of a test are false, the others true, chosen by chance.

A program that does not know the right answers cannot tell the false methods from the true ones: it has seen neither,
and both are altered at the same places in the same forms. Of m groups of methods, 2^m - 2 choices are possible, so a
guess passes one check with probability 1 / (2^m - 2).
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.judge.integrity.altered_tests import mixed, units, without_methods
from bigcodeflow.judge.integrity.contradictions import Reference, Variant
from bigcodeflow.judge.integrity.membership import with_memberships

#: Probability that two outcomes of the same method are guessed.
_PAIR_GUESSED = 0.25


class Mixture(NamedTuple):
    """Altered text, with the alterations in it, as in ALTERATION."""

    text: str
    alterations: tuple[Mapping[str, Any], ...]
    tests: tuple[str, ...] = ()
    """Test methods in the text, if it lacks some of the task's; empty: all."""


Pairs = Sequence[tuple[Variant, Variant]]
"""False and true texts of a test, in each form."""


def mixtures(pairs: Pairs, chance: random.Random) -> list[Mixture]:
    """Return texts with some groups of methods false; if there is only one group, a true and a false text.

    Each method is altered in a form of its own, drawn from those in which it is a group by itself. Only valid
    alterations are used; empty if no method can be contradicted. Of slow tests the texts hold a few groups, drawn too.
    """
    groups = [_groups(false) for false, _ in pairs]
    usable = [form for form, own in enumerate(groups) if own]
    if not usable:
        return []
    base = chance.choice(usable)
    reference, (_, true) = pairs[base][0].reference, pairs[base]
    drawn = reference.drawn(groups[base], chance)
    forms = [chance.choice(_forms(pairs, groups, group, base)) for group in drawn]
    count = len(forms)
    chosen = (0, 1) if count == 1 else (chance.randrange(1, 2**count - 1),)
    grouped = frozenset[str]().union(*groups[base])
    others = [one for one in true.alterations if one["test"] not in grouped] if reference.is_checked_whole else []
    found = []
    for bits in chosen:
        altered = [(one, true) for one in others]
        for place, (group, form) in enumerate(zip(drawn, forms, strict=True)):
            text = pairs[form][1 - (bits >> place & 1)]
            altered += [(one, text) for one in text.alterations if one["test"] in group]
        if altered:  # a true text without a valid restatement shows nothing
            mixture = _reduced(_mixture(altered), reference, drawn)
            widened, alterations = with_memberships(mixture.text, mixture.alterations, chance)
            found.append(mixture._replace(text=widened, alterations=alterations))
    return found


def separate_mixture(separated: Variant, chance: random.Random) -> Mixture | None:
    """Return the text for program and test in a process each, with the methods that are drawn; None if it has none."""
    if not separated.alterations:
        return None
    drawn = separated.reference.drawn([frozenset({one["test"]}) for one in separated.alterations], chance)
    return _reduced(Mixture(separated.altered.text, separated.alterations), separated.reference, drawn)


def guess_probability(pairs: Pairs) -> float:
    """Return the probability that a guess of the false methods passes the texts of one call of `mixtures`."""
    count = min(filter(None, (len(_groups(false)) for false, _ in pairs)), default=0)
    return 1 / (2**count - 2) if count > 1 else _PAIR_GUESSED


def _groups(false: Variant) -> list[frozenset[str]]:
    contradicted = {one["test"] for one in false.alterations}
    return [group for group in units(false.altered) if group <= contradicted]


def _forms(pairs: Pairs, groups: Sequence[list[frozenset[str]]], group: frozenset[str], base: int) -> list[int]:
    """Return the forms that a group of methods can take, those with a valid restatement if there are any."""
    found = [form for form, own in enumerate(groups) if group in own] if len(group) == 1 else [base]
    restated = [form for form in found if group <= {one["test"] for one in pairs[form][1].alterations}]
    return restated or found


def _reduced(mixture: Mixture, reference: Reference, drawn: Sequence[frozenset[str]]) -> Mixture:
    """Return a mixture without the methods that were not drawn, if its test is too slow to be executed whole."""
    if reference.is_checked_whole:
        return mixture
    names = frozenset[str]().union(*drawn)
    tests = tuple(name for name in reference.task["expected_tests"] if name in names)
    text = without_methods(mixture.text, frozenset(reference.task["expected_tests"]) - names)
    return Mixture(text, tuple(one for one in mixture.alterations if one["test"] in names), tests)


def _mixture(altered: Sequence[tuple[Mapping[str, Any], Variant]]) -> Mixture:
    """Return a text with these alterations, each from its variant; false ones win where functions are shared."""
    ordered = sorted(altered, key=lambda one: one[0]["kind"] == "contradiction")
    task = ordered[0][1].reference.task
    lines = [(one["line"], variant.altered.text) for one, variant in ordered]
    return Mixture(mixed(task["test"], task["entry_point"], lines), tuple(one for one, _ in ordered))
