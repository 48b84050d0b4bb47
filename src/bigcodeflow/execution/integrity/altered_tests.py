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
    return _Choice(Source(test), ParsedTest(module, entry_point), test, variant, pins or {}).altered_test()


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
        pins = {one: self._pin_changes(one) for one in self._tests if (turns[one] + self._variant) % 2 == 0}
        open_tests = set(self._tests) - {one for one, changes in pins.items() if changes}
        if len(self._tests) >= _MANY_TESTS:
            # A program that answers otherwise once it met an alteration fails the one that stays as it is.
            turn = seeded(self._test, "left alone").randrange(len(self._tests))
            open_tests.discard(self._tests[(turn + self._variant) % len(self._tests)])
        for test in self._tests:
            candidates = self.candidates(test) if test in open_tests else []
            candidate = self._chosen(test, [one for one in candidates if one.tests <= open_tests])
            if candidate:
                open_tests -= candidate.tests
                self._add([candidate.change], candidate.tests, "contradiction")
        for test, changes in pins.items():
            self._add(changes, {test}, "pin")
        ordered = sorted(self._alterations, key=lambda one: (one.test, one.line))
        return AlteredTest(self._source.altered(set(self._changes)), tuple(ordered))

    def candidates(self, test: str) -> list[Candidate]:
        """Every contradiction of a method's assertions, in the order of the text."""
        found = []
        for number, site in enumerate(self._parsed.sites(test)):
            seed = seeded(self._test, self._variant, test, number)
            changes = contradictions(Writer(self._source, site, seed, self._pins))
            for change in changes:
                line = self._source.line(change.start)
                holding = (key for key, first, last in self._places if first <= line <= last)
                tests = self._deciding.get(next(holding, ""), frozenset()) | {test}
                found.append(Candidate(change, tests, name_of(site.node)))
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

    def _pin_changes(self, test: str) -> list[Replacement]:
        """The recorded values in the place of what computes them."""
        found = []
        pairs = (compared_operands(site.node) or () for site in self._parsed.sites(test))
        for operand in (one for pair in pairs for one in pair):
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
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == entry_point:
            node.args = [_copied(one) for one in node.args]
            node.keywords = [ast.keyword(one.arg, _copied(one.value)) for one in node.keywords]
    return ast.unparse(ast.fix_missing_locations(module))


def _copied(node: ast.expr) -> ast.expr:
    copy = ast.parse("__import__('copy').deepcopy", mode="eval").body
    return node if isinstance(node, ast.Starred | ast.Constant) else ast.Call(copy, [node], [])


#: Doubles, settings of the interpreter, and attributes of modules and of the function: not the same in both processes.
_APART = frozenset(
    """patch Mock MagicMock AsyncMock NonCallableMock PropertyMock create_autospec mock_open setattr delattr
    localcontext getcontext simplefilter filterwarnings catch_warnings umask tzset lockf flock dup2 redirect_stderr
    reload stderr stdin setrecursionlimit getattr hasattr inspect signature __dict__ __globals__
    __code__""".split()  # noqa: SIM905 -- as a list it takes a screen
)


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
    # Those that hold an assertion, or call a helper that may hold one, and mean the same in both processes.
    names = []
    for method in methods:
        nodes = list(ast.walk(method))
        calls_own = any(isinstance(node, ast.Call) and key_of(node.func).startswith("self.") for node in nodes)
        if (assertions_in(nodes) or calls_own) and not _differs(nodes, defined, entry_point):
            names.append(method.name)
    return AlteredTest(text, tuple(Alteration(name, 0, "separate", "", "") for name in sorted(set(names))))


def _differs(nodes: Iterable[ast.AST], defined: frozenset[str], entry_point: str) -> bool:
    """Whether some of the nodes mean one thing in the process of the test and another in the program's."""
    return any(_is_apart(node, defined | _APART, entry_point) for node in nodes)


def _is_apart(node: ast.AST, names: frozenset[str], entry_point: str) -> bool:
    """Whether a node names one of these, sets an attribute not of the test's own, or takes one of the function's."""
    match node:
        case ast.Name(id=name) | ast.alias(name=name):
            return name in names
        case ast.Attribute(attr=name) if name in _APART or name.startswith(("register_", "set_int_max")):
            return True
        case ast.Attribute(value=value, attr="path"):
            return ast.unparse(value) == "sys"
        case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
            return ast.unparse(value) not in ("self", "cls") and (ast.unparse(value), name) != ("sys", "stdout")
        case ast.Attribute(value=ast.Name(id=name)):
            return name == entry_point
    return False
