"""Altered test texts: with contradictions, with restatements, and mixtures of contradictions and restatements.

No correct solution passes a method after a contradiction. Every correct solution still passes a method after a
restatement, which states the same value in another form. `disguise` makes contradictions and restatements at the same
places in the same forms: only a program that knows the right values can distinguish them. `mixed` combines functions of
several altered texts.
"""

import ast
import hashlib
import math
import random
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.judge.guest.protocol import WATCHED_MOCKS
from bigcodeflow.judge.integrity.assertions import compared_operands, contradictions
from bigcodeflow.judge.integrity.literals import evaluated
from bigcodeflow.judge.integrity.operands import OPERAND, Replacement, Source, Writer, expression_of
from bigcodeflow.judge.integrity.syntax import Assertion, ParsedTest, pin_id, test_methods, tree_of

#: Bump when the altered text of an unchanged test may change; texts that stay equal stay validated.
VERSION = 3
#: Part of the seeds: another number draws every text anew.
_DRAW = 2
#: Most contradictions of a method among which the variant number chooses.
VARIANTS = 3
_OPPOSITES = {"assertTrue": "assertFalse", "assertFalse": "assertTrue"}
_TURNED_SHARE = 0.5
_LINE_END = re.compile(r"\r\n|\r|\n")
#: Forms of any expression; the first is for literals too.
_FORMS = ("[{}][0]", "({}, None)[0]", "(None, {})[-1]", "[{}].pop()", "{{0: {}}}[0]")
_MOST_DIGITS = 15


class Alteration(NamedTuple):
    """Change in a test text, at ``line``, that decides if a correct solution passes the test method ``test``."""

    test: str
    line: int
    kind: Literal["contradiction", "restatement", "separate"]
    """A correct solution fails a method with a contradiction. It passes a method with a restatement, and a method that
    calls the solution in a separate process."""
    before: str
    after: str


class AlteredTest(NamedTuple):
    """Altered text of a test, and the alterations in this text."""

    text: str
    alterations: tuple[Alteration, ...]


class Candidate(NamedTuple):
    """Change that contradicts an assertion (``node``), and the test methods whose outcome the change decides."""

    change: Replacement
    tests: frozenset[str]
    node: Assertion


def contradict(test: str, entry_point: str, *, variant: int, pins: Mapping[str, str] | None = None) -> AlteredTest:
    """Return the test text with at most one contradiction per test method; equal arguments give equal texts.

    ``variant`` chooses among possible contradictions. ``pins`` maps the position 'line:column' of an expected
    operand to its recorded value, as Python source; such an operand is contradicted by a literal.
    """
    return disguise(test, entry_point, "contradiction", variant=variant, pins=pins, is_disguised=False)


@untrusted_text.with_fallback(lambda test, *_, **__: AlteredTest(test, ()))
def disguise(
    test: str,
    entry_point: str,
    kind: Literal["contradiction", "restatement"],
    *,
    variant: int,
    pins: Mapping[str, str] | None = None,
    is_disguised: bool = True,
) -> AlteredTest:
    """Return the test with an alteration of ``kind`` in each method, if possible; both kinds alter the same assertions.

    A correct solution fails a method with a contradiction. It passes a method with a restatement: the same value in
    another form, such as (2 + 3) for 5. With ``is_disguised``, contradictions have such forms too.
    """
    module = tree_of(test)
    if module is None:
        return AlteredTest(test, ())
    return _Choice(test, module, entry_point, variant, pins or {}).altered(kind, is_disguised=is_disguised)


def mixed(test: str, entry_point: str, altered: Iterable[tuple[int, str]]) -> str:
    """Return the test text with functions from altered texts: for each pair (line, text), the function at this line.

    If several pairs name a function, the last pair wins. The altered texts come from `disguise`, which moves no lines.
    """
    module, lines = tree_of(test), _lines(test)
    scopes = ParsedTest(module, entry_point).scopes.values() if module else ()
    places = [(one.node.lineno, one.node.end_lineno or 0) for one in scopes]
    for line, text in altered:
        for first, last in places:
            if first <= line <= last:
                lines[first - 1 : last] = _lines(text)[first - 1 : last]
    mixture = "".join(lines)
    # The harness then compares the records of mocks with the calls made.
    return f"{mixture}\n{WATCHED_MOCKS}" if "mock" in mixture.lower() else mixture


def without_methods(test: str, names: Container[str]) -> str:
    """Return the test text with empty lines in place of the methods in ``names``, so that no line number changes."""
    module, lines = tree_of(test), _lines(test)
    for method in test_methods(module) if module else ():
        if method.name in names:
            first = min(part.lineno for part in (method, *method.decorator_list))
            last = method.end_lineno or method.lineno
            lines[first - 1 : last] = ["\n"] * (last - first + 1)
    return "".join(lines)


def units(false: AlteredTest) -> list[frozenset[str]]:
    """Return sets of test methods; a common contradiction, as in a helper, decides all methods of a set."""
    found: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    for one in false.alterations:
        found[one.line, one.before, one.after].add(one.test)
    return [frozenset(tests) for tests in found.values()]


def _lines(text: str) -> list[str]:
    ends = [0, *(found.end() for found in _LINE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


def _seeded(*parts: object) -> random.Random:
    """Return a random generator with a seed made from the parts: equal parts give equal numbers."""
    return random.Random(hashlib.sha256(repr((_DRAW, *parts)).encode("utf-8", "backslashreplace")).digest())  # noqa: S311 -- repeatable, no secret


def _expressions(source: Source, module: ast.Module) -> frozenset[tuple[int, int]]:
    """Return the byte spans (start, end) of expressions that can be rewritten in another form, outside f-strings."""
    fixed = {id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    fixed -= {id(node) for node in ast.walk(module) if isinstance(node, ast.JoinedStr)}
    found = (node for node in ast.walk(module) if isinstance(node, ast.expr) and id(node) not in fixed)
    loaded = (node for node in found if isinstance(getattr(node, "ctx", ast.Load()), ast.Load))
    return frozenset(
        source.span(node) for node in loaded if not isinstance(node, ast.Starred | ast.Slice | ast.GeneratorExp)
    )


class _Choice:
    def __init__(self, test: str, module: ast.Module, entry_point: str, variant: int, pins: Mapping[str, str]) -> None:
        self.source, self._parsed = Source(test), ParsedTest(module, entry_point)
        self._test, self._variant, self._pins = test, variant, pins
        self._tests = self._parsed.tests
        self._places = [(key, one.node.lineno, one.node.end_lineno or 0) for key, one in self._parsed.scopes.items()]
        self._deciding = self._parsed.callers()
        self._expressions = _expressions(self.source, module)
        #: Recorded values of operands, by the span that is altered for each.
        self._recorded: dict[tuple[int, int], str] = {}
        for site in (site for test in self._tests for site in self._parsed.sites(test)):
            writer = Writer(self.source, site, _seeded(), pins)
            for operand in compared_operands(site.node) or ():
                if pin_id(operand) in pins:
                    self._recorded[self.source.span(writer.place_of(operand))] = pins[pin_id(operand)]

    def altered(self, kind: Literal["contradiction", "restatement"], *, is_disguised: bool) -> AlteredTest:
        changes: list[Replacement] = []
        alterations: list[Alteration] = []
        for change, tests, node in self._chosen_changes():
            seed = _seeded(self._test, self._variant, change, kind)
            chosen: Replacement | None = change
            if kind == "restatement":
                chosen = self._restated(change, node, seed)
            elif is_disguised and (change.start, change.end) in self._expressions:
                chosen = self._in_another_form(change, seed)
            if chosen is None or any(one.start < chosen.end and chosen.start < one.end for one in changes):
                continue
            changes.append(chosen)
            if is_disguised and _seeded(self._test, change).random() < _TURNED_SHARE:
                changes += self._turned(node)
            before, line = self.source.slice(chosen.start, chosen.end), self.source.line(chosen.start)
            after = chosen.text if kind == "restatement" else change.text
            alterations += [Alteration(test, line, kind, before, after) for test in sorted(tests)]
        return AlteredTest(self.source.altered(changes), tuple(sorted(alterations)))

    def _turned(self, node: Assertion) -> list[Replacement]:
        """Return changes that turn assertTrue(x) into assertFalse(not (x)), or the reverse; [] for other assertions."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            return []
        name = node.func.attr
        if name not in _OPPOSITES:
            return []
        start, end = self.source.span(node.args[0])
        name_end = self.source.span(node.func)[1]
        named = Replacement(name_end - len(name), name_end, _OPPOSITES[name], OPERAND)
        return [named, Replacement(start, start, "not (", OPERAND), Replacement(end, end, ")", OPERAND)]

    def candidates(self, test: str) -> list[Candidate]:
        """Return all possible contradictions of the assertions that a test method reaches, its own assertions first."""
        found = []
        for number, site in enumerate(self._parsed.sites(test)):
            seed = _seeded(self._test, self._variant, test, number)
            for change in contradictions(Writer(self.source, site, seed, self._pins)):
                line = self.source.line(change.start)
                holding = (key for key, first, last in self._places if first <= line <= last)
                tests = self._deciding.get(next(holding, ""), frozenset()) | {test}
                found.append(Candidate(change, tests, site.node))
        return found

    def _chosen_changes(self) -> Iterator[tuple[Replacement, frozenset[str], Assertion]]:
        """Yield contradictions as (change, methods whose outcome it decides, assertion); no method occurs twice."""
        remaining = set(self._tests)
        for test in self._tests:
            candidates = self.candidates(test) if test in remaining else []
            candidate = self._chosen(test, [one for one in candidates if one.tests <= remaining])
            if candidate:
                remaining -= candidate.tests
                yield candidate.change, candidate.tests, candidate.node

    def _chosen(self, test: str, candidates: list[Candidate]) -> Candidate | None:
        """Choose, by the variant, a candidate that a program hardly notices (low rank); return None without candidates.

        Candidates that decide only the method ``test`` are preferred.
        """
        if not candidates:
            return None
        order = _seeded(self._test, test)
        own = [one for one in candidates if len(one.tests) == 1] or candidates
        shuffled = sorted(own, key=lambda one: (one.change.rank, order.random()))
        limit = max(OPERAND, shuffled[0].change.rank)
        pool = [one for one in shuffled if one.change.rank <= limit]
        return pool[self._variant % min(len(pool), VARIANTS)]

    def _in_another_form(self, change: Replacement, seed: random.Random) -> Replacement:
        text = restated(change.text, seed)
        found = self.source.replace(change.start, change.end, text, change.rank) if text else []
        return found[0] if found else change

    def _restated(self, change: Replacement, node: Assertion, seed: random.Random) -> Replacement | None:
        """Return a restatement at the place of the contradiction ``change``, or elsewhere in the assertion ``node``.

        Return None if neither is possible. An expression that the test computes is replaced by its value, recorded
        without the program: a program could replace the functions that compute this value.
        """
        span = (change.start, change.end)
        if span in self._expressions:
            same = change._replace(text=self._recorded.get(span) or self.source.slice(*span))
            found = self._in_another_form(same, seed)
            if found is not same:
                return found
        return next(restatements(self.source, node, self._expressions, seed), None)


def restated(text: str, seed: random.Random) -> str | None:
    """Return another form of an expression, with the same value and type; None if the text is no expression.

    For example, ``5`` becomes ``(2 + 3)``, ``'abc'`` becomes ``('a' + 'bc')``, ``f(x)`` becomes ``(f(x), None)[0]``.
    """
    node = expression_of(f"({text}\n)")
    if node is None or isinstance(node, ast.Starred | ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.GeneratorExp):
        return None
    value = evaluated(node)
    form = _literal_form(value[0], seed) if value else None
    return form or seed.choice(_FORMS).format(f"({text})" if isinstance(node, ast.Tuple) else text)


def _literal_form(value: object, seed: random.Random) -> str | None:
    match value:
        case bool():
            return f"(not {not value})"
        case int() if abs(value) < 10**_MOST_DIGITS:
            part = seed.randint(1, max(9, abs(value) // 2))
            return f"({value - part} + {part})"
        case float() if math.isfinite(2 * value):
            return f"({2 * value!r} / 2)"
        case str() | bytes() if len(value) > 1 and "\n" not in repr(value):
            cut = seed.randrange(1, len(value))
            return f"({value[:cut]!r} + {value[cut:]!r})"
    return None


def restatements(
    source: Source, node: Assertion, expressions: Container[tuple[int, int]], seed: random.Random
) -> Iterator[Replacement]:
    """Yield changes of an assertion's operands that keep the operands' values; changes of literals come first.

    ``expressions`` holds the byte spans (start, end) of expressions that can be rewritten in another form.
    """
    operands = [node.test] if isinstance(node, ast.Assert) else [*node.args, *(one.value for one in node.keywords)]
    parts = [part for one in operands for part in ast.walk(one) if isinstance(part, ast.expr)]
    found = [part for part in parts if source.span(part) in expressions]
    seed.shuffle(found)
    for place in sorted(found, key=lambda one: evaluated(one) is None):
        text = restated(source.segment(place), seed)
        yield from source.change(place, text) if text else ()
