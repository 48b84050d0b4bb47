"""Altered test texts: with contradictions and pins, with copied arguments, and with the program in another process.

In a separated execution the process of the test executes the task's own solution, for the names that the test uses;
what the test then calls asks the process of the program. A method decides nothing where the two might see different
things: where it replaces parts of modules, changes settings of the interpreter, or reads what the solution defines.
"""

import ast
import hashlib
import random
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.execution.failure_kinds import bound_by
from bigcodeflow.execution.integrity.assertions import compared_operands, contradictions, name_of
from bigcodeflow.execution.integrity.operands import LITERAL, OPERAND, Writer, evaluated_text, pin_id
from bigcodeflow.execution.integrity.scopes import ParsedTest
from bigcodeflow.execution.integrity.syntax import Replacement, Source, assertions_in, key_of
from bigcodeflow.sandbox.protocol import SEPARATED

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

    change: Replacement
    tests: frozenset[str]
    assertion: str


@untrusted_text.fails_alone(lambda test, *_, **__: AlteredTest(test, ()))
def contradict(test: str, entry_point: str, *, variant: int, pins: Mapping[str, str] | None = None) -> AlteredTest:
    """The test text with at most one contradiction a test method; equal arguments give equal texts.

    Args:
        pins: recorded values by site, as ``read_recording`` gives them: half of the methods that have some expect
            these instead of being contradicted.
    """
    try:
        module = untrusted_text.parse(test)
    except untrusted_text.REFUSALS:
        return AlteredTest(test, ())
    chosen = _Choice(Source(test), ParsedTest(module, entry_point), test, variant, pins or {})
    return chosen.altered_test()


def seeded(*parts: object) -> random.Random:
    """A generator that equal parts always start alike."""
    return random.Random(hashlib.sha256(repr((VERSION, *parts)).encode("utf-8", "backslashreplace")).digest())  # noqa: S311 -- repeatable, no secret


class _Choice:
    """The alterations of one variant, as they are collected."""

    def __init__(self, source: Source, parsed: ParsedTest, test: str, variant: int, pins: Mapping[str, str]) -> None:
        self._source, self._parsed, self._test, self._variant, self._pins = source, parsed, test, variant, pins
        self._tests = parsed.tests
        self._places = [(key, one.node.lineno, one.node.end_lineno or 0) for key, one in parsed.scopes.items()]
        self._deciding = parsed.callers()
        self._changes: list[Replacement] = []
        self._alterations: list[Alteration] = []

    def altered_test(self) -> AlteredTest:
        """The text with everything that was chosen."""
        turns = {one: seeded(self._test, one, "pins").randrange(2) for one in self._tests}
        pinned = {one for one in self._tests if (turns[one] + self._variant) % 2 == 0 and self._pin_changes(one)}
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
        for number, site in enumerate(self._parsed.sites(test)):
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

    def _decided_by(self, change: Replacement, test: str) -> frozenset[str]:
        """The test methods that run what a change alters."""
        line = self._source.line(change.start)
        holding = (key for key, first, last in self._places if first <= line <= last)
        return self._deciding.get(next(holding, ""), frozenset()) | {test}

    def _left_alone(self) -> set[str]:
        """One of many methods stays as it is: a program that answers otherwise once it met an alteration fails it."""
        tests = self._tests
        turn = seeded(self._test, "left alone").randrange(len(tests) or 1)
        return {tests[(turn + self._variant) % len(tests)]} if len(tests) >= _MANY_TESTS else set()

    def _pin_changes(self, test: str) -> list[Replacement]:
        """The recorded values in the place of what computes them."""
        found = []
        for operand in (
            one for site in self._parsed.sites(test) for pair in compared_operands(site.node) for one in pair
        ):
            literal = self._pins.get(pin_id(operand), "")
            if literal and evaluated_text(literal) is not None:
                found += self._source.change(operand, literal, LITERAL)
        return found

    def _add(self, changes: Iterable[Replacement], tests: Iterable[str], kind: Literal["contradiction", "pin"]) -> None:
        for change in changes:
            overlapping = [one for one in self._changes if one.start < change.end and change.start < one.end]
            if overlapping and change not in overlapping:
                continue
            self._changes += [] if overlapping else [change]
            before = self._source.slice(change.start, change.end)
            line = self._source.line(change.start)
            self._alterations += [Alteration(test, line, kind, before, change.text) for test in sorted(tests)]


@untrusted_text.fails_alone(lambda test, _entry_point: test)
def copying_text(test: str, entry_point: str) -> str:
    """The test text with a deep copy of every argument in the calls of the function, as nothing is shared then."""
    try:
        module = untrusted_text.parse(test)
    except untrusted_text.REFUSALS:
        return test
    return ast.unparse(ast.fix_missing_locations(_Copying(entry_point).visit(module)))


class _Copying(ast.NodeTransformer):
    def __init__(self, entry_point: str) -> None:
        self._entry_point = entry_point

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == self._entry_point:
            node.args = [self._copied(one) for one in node.args]
            node.keywords = [ast.keyword(one.arg, self._copied(one.value)) for one in node.keywords]
        return node

    @staticmethod
    def _copied(node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Starred | ast.Constant):
            return node
        copy = ast.parse("__import__('copy').deepcopy", mode="eval").body
        return ast.Call(copy, [node], [])


_DOUBLES = "patch Mock MagicMock AsyncMock NonCallableMock PropertyMock create_autospec mock_open setattr delattr"
_SETTINGS = (
    "localcontext getcontext simplefilter filterwarnings catch_warnings umask tzset lockf flock dup2 redirect_stderr"
    " reload stderr stdin setrecursionlimit"
)
#: Of modules and of the function: they are not the same in both processes.
_LOOKING = "getattr hasattr inspect signature __dict__ __globals__ __code__"
_APART = frozenset(f"{_DOUBLES} {_SETTINGS} {_LOOKING}".split())


def _undecided(solution: str, test: str, entry_point: str, imports: str = "") -> AlteredTest:
    binding = f"{entry_point} = {SEPARATED}({entry_point!r}, {entry_point}, {imports!r})"
    return AlteredTest(f"{solution}\n\n{binding}\n{test}", ())


@untrusted_text.fails_alone(_undecided)
def separated_test(solution: str, test: str, entry_point: str) -> AlteredTest:
    """The text, and the test methods that a correct program passes with it."""
    try:
        module, own = untrusted_text.parse(test), untrusted_text.parse(solution)
    except untrusted_text.REFUSALS:
        return _undecided(solution, test, entry_point)
    imports = [ast.unparse(node) for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    text = _undecided(solution, test, entry_point, "\n".join(imports)).text
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "TestCases"]
    parts = [part for node in classes for part in node.body if isinstance(part, ast.FunctionDef)]
    methods = [part for part in parts if part.name.startswith("test")]
    # Names that the solution's own statements bind otherwise than by an import.
    defined = bound_by(node for node in own.body if not isinstance(node, ast.Import | ast.ImportFrom))
    defined -= {entry_point} | bound_by(module.body)
    inside = {id(part) for method in methods for part in ast.walk(method)}
    if _differs((part for part in ast.walk(module) if id(part) not in inside), defined, entry_point):
        return AlteredTest(text, ())
    names = {one.name for one in methods if _may_check(one) and not _differs(ast.walk(one), defined, entry_point)}
    return AlteredTest(text, tuple(Alteration(name, 0, "separate", "", "") for name in sorted(names)))


def _may_check(method: ast.FunctionDef) -> bool:
    """Whether a method holds an assertion, or calls a helper that may hold one."""
    calls = (part for part in ast.walk(method) if isinstance(part, ast.Call))
    return bool(assertions_in(method)) or any(key_of(call.func).startswith("self.") for call in calls)


def _differs(nodes: Iterable[ast.AST], defined: frozenset[str], entry_point: str) -> bool:
    """Whether some of the nodes mean one thing in the process of the test and another in the program's."""
    return any(_names(node, defined | _APART) or _reaches(node, entry_point) for node in nodes)


def _names(node: ast.AST, names: frozenset[str]) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name in _APART or name.startswith(("register_", "set_int_max"))
        case ast.Name(id=name) | ast.alias(name=name):
            return name in names
    return False


def _reaches(node: ast.AST, entry_point: str) -> bool:
    """Whether a node assigns to an attribute that is not the test's own, or takes one of the function's."""
    match node:
        case ast.Attribute(value=value, attr="path"):
            return ast.unparse(value) == "sys"
        case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
            return ast.unparse(value) not in ("self", "cls") and (ast.unparse(value), name) != ("sys", "stdout")
        case ast.Attribute(value=ast.Name(id=name)):
            return name == entry_point
    return False
