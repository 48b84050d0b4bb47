"""Chooses, for every test method, what of it is contradicted or pinned in one variant of the text."""

import hashlib
import random
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.execution.integrity.assertions import compared_operands, contradictions, name_of
from bigcodeflow.execution.integrity.operands import LITERAL, OPERAND, Writer, evaluated_text, pin_id
from bigcodeflow.execution.integrity.reading import Reading, Site
from bigcodeflow.execution.integrity.source import Change, Source

#: Bump when the altered text of an unchanged test changes.
VERSION = 1
#: Altered texts that are made of a test.
VARIANTS = 3
#: Test methods from which on a variant leaves one as it is.
_MANY_TESTS = 5


class Alteration(NamedTuple):
    """What was altered for one test method."""

    test: str
    """The method that it decides."""
    line: int
    """Where the altered segment begins."""
    kind: Literal["contradiction", "pin", "separate"]
    """A correct solution fails a contradicted method, and passes a pinned one, or one that calls it in a process of its
    own."""
    before: str
    after: str


class AlteredTest(NamedTuple):
    """A test text with values altered in place: same names, lines and shape."""

    text: str
    alterations: tuple[Alteration, ...]


class Candidate(NamedTuple):
    """A change that contradicts an assertion, and the test methods that it decides."""

    change: Change
    tests: frozenset[str]
    assertion: str


def _unaltered(test: str, _entry_point: str, **_: object) -> AlteredTest:
    return AlteredTest(test, ())


@untrusted_text.fails_alone(_unaltered)
def contradict(test: str, entry_point: str, *, variant: int, pins: Mapping[str, str] | None = None) -> AlteredTest:
    """The test text with at most one contradiction a test method; equal arguments give equal texts.

    Args:
        test: the task's test text.
        entry_point: the function that programs define.
        variant: 0 to VARIANTS - 1.
        pins: recorded values by site, as ``read_recording`` gives them: half of the methods that have some expect
            these instead of being contradicted.
    """
    try:
        module = untrusted_text.parse(test)
    except untrusted_text.REFUSALS:
        return AlteredTest(test, ())
    chosen = _Choice(Source(test), Reading(module, entry_point), test, variant, pins or {})
    return chosen.altered_test()


def seeded(*parts: object) -> random.Random:
    """A generator that equal parts always start alike."""
    return random.Random(hashlib.sha256(repr((VERSION, *parts)).encode("utf-8", "backslashreplace")).digest())  # noqa: S311 -- repeatable, no secret


class _Choice:
    """The alterations of one variant, as they are collected."""

    def __init__(self, source: Source, reading: Reading, test: str, variant: int, pins: Mapping[str, str]) -> None:
        self._source, self._reading, self._test, self._variant, self._pins = source, reading, test, variant, pins
        self._tests = reading.tests
        self._places = [(key, one.node.lineno, one.node.end_lineno or 0) for key, one in reading.scopes.items()]
        self._deciding = reading.callers()
        self._changes: list[Change] = []
        self._alterations: list[Alteration] = []

    def altered_test(self) -> AlteredTest:
        """The text with everything that was chosen."""
        pinned = {one for one in self._tests if self._is_pinned(one)}
        decided, kept = set[str](), pinned | self._left_alone()
        for test in self._tests:
            if test in decided | kept:
                continue
            open_tests = set(self._tests) - decided - kept
            candidate = self._chosen(test, [one for one in self.candidates(test) if one.tests <= open_tests])
            if candidate:
                decided |= candidate.tests
                self._add([candidate.change], candidate.tests, "contradiction")
        for test in sorted(pinned):
            self._add(self._pin_changes(test), {test}, "pin")
        ordered = sorted(self._alterations, key=lambda one: (one.test, one.line))
        return AlteredTest(self._source.altered(set(self._changes)), tuple(ordered))

    def candidates(self, test: str) -> list[Candidate]:
        """Every contradiction of a method's assertions, in the order of the text."""
        found = []
        for number, site in enumerate(self._reading.sites(test)):
            seed = seeded(self._test, self._variant, test, number)
            changes = contradictions(Writer(self._source, site, seed, self._pins))
            found += [Candidate(one, self._decided_by(one, test), name_of(site.node)) for one in changes]
        return found

    def _chosen(self, test: str, candidates: list[Candidate]) -> Candidate | None:
        """One of the strong ones, another in each variant; where there are none, of the best."""
        if not candidates:
            return None
        order = seeded(self._test, test)
        shuffled = sorted(candidates, key=lambda one: (one.change.rank, order.random()))
        limit = max(OPERAND, shuffled[0].change.rank)
        pool = [one for one in shuffled if one.change.rank <= limit]
        return pool[self._variant % min(len(pool), VARIANTS)]

    def _decided_by(self, change: Change, test: str) -> frozenset[str]:
        """The test methods that run what a change alters."""
        line = self._source.line(change.start)
        holding = (key for key, first, last in self._places if first <= line <= last)
        return self._deciding.get(next(holding, ""), frozenset()) | {test}

    def _left_alone(self) -> set[str]:
        """One of many methods stays as it is: a program that answers otherwise once it met an alteration fails it."""
        tests = self._tests
        turn = seeded(self._test, "left alone").randrange(len(tests) or 1)
        return {tests[(turn + self._variant) % len(tests)]} if len(tests) >= _MANY_TESTS else set()

    def _is_pinned(self, test: str) -> bool:
        turn = seeded(self._test, test, "pins").randrange(2)
        return (turn + self._variant) % 2 == 0 and bool(self._pin_changes(test))

    def _pin_changes(self, test: str) -> list[Change]:
        """The recorded values in the place of what computes them."""
        return [change for site in self._reading.sites(test) for change in self._pins_of(site)]

    def _pins_of(self, site: Site) -> list[Change]:
        found = []
        for pair in compared_operands(site.node):
            for operand in pair:
                literal = self._pins.get(pin_id(operand), "")
                if literal and evaluated_text(literal) is not None:
                    found += self._source.change(operand, literal, LITERAL)
        return found

    def _add(self, changes: Iterable[Change], tests: Iterable[str], kind: Literal["contradiction", "pin"]) -> None:
        for change in changes:
            overlapping = [one for one in self._changes if one.start < change.end and change.start < one.end]
            if overlapping and change not in overlapping:
                continue
            self._changes += [] if overlapping else [change]
            before = self._source.slice(change.start, change.end)
            line = self._source.line(change.start)
            self._alterations += [Alteration(test, line, kind, before, change.text) for test in sorted(tests)]
