"""Texts made from a test: with contradictions and pins, with copied arguments, for two processes, and for recording.

In a separated execution the test's process executes the task's own solution, for the names that the test uses; calls
of the function go to the program's process. A test method decides nothing if the two processes may differ for it: if
it replaces parts of modules, changes settings of the interpreter, or reads names that the solution defines.
Expected values that a test computes by itself are recorded once, so that a variant can state them as literals (pins).
"""

import ast
import builtins
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Literal, NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.execution.failure_kinds import bound_by
from bigcodeflow.execution.integrity import syntax
from bigcodeflow.execution.integrity.assertions import compared_operands, contradictions, name_of
from bigcodeflow.execution.integrity.literals import evaluated
from bigcodeflow.execution.integrity.operands import LITERAL, OPERAND, Replacement, Source, Writer, evaluated_text
from bigcodeflow.execution.integrity.syntax import ParsedTest, Scope, assertions_in, key_of, pin_id, tree_of
from bigcodeflow.sandbox.protocol import SEPARATED

#: Bump when the altered text of an unchanged test changes.
VERSION = 1
#: Number of altered texts per test.
VARIANTS = 3
#: From this number of test methods on, each variant leaves one method unaltered.
_MANY_TESTS = 5


class Alteration(NamedTuple):
    """Alteration of one test method, whose outcome it decides; the altered segment begins at ``line``."""

    test: str
    line: int
    kind: Literal["contradiction", "pin", "separate"]
    """A correct solution fails a contradicted method; it passes a pinned method, and a method that calls it in a
    separate process."""
    before: str
    after: str


class AlteredTest(NamedTuple):
    """A test text with values altered in place: same names, lines and shape."""

    text: str
    alterations: tuple[Alteration, ...]


class Candidate(NamedTuple):
    """Change that contradicts an assertion with this name, and the test methods whose outcome it decides."""

    change: Replacement
    tests: frozenset[str]
    assertion: str


@untrusted_text.with_fallback(lambda test, *_, **__: AlteredTest(test, ()))
def contradict(test: str, entry_point: str, *, variant: int, pins: Mapping[str, str] | None = None) -> AlteredTest:
    """Return the test text with at most one contradiction per test method; equal arguments give equal texts.

    About half of the methods with ``pins`` (recorded values by site) get these as expected values, no contradiction.
    """
    module = tree_of(test)
    if module is None:
        return AlteredTest(test, ())
    return _Choice(Source(test), ParsedTest(module, entry_point), test, variant, pins or {}).altered_test()


def _seeded(*parts: object) -> random.Random:
    """Return a random generator that is seeded by the parts and VERSION."""
    return random.Random(hashlib.sha256(repr((VERSION, *parts)).encode("utf-8", "backslashreplace")).digest())  # noqa: S311 -- repeatable, no secret


class _Choice:
    def __init__(self, source: Source, parsed: ParsedTest, test: str, variant: int, pins: Mapping[str, str]) -> None:
        self._source, self._parsed, self._test, self._variant, self._pins = source, parsed, test, variant, pins
        self._tests = parsed.tests
        self._places = [(key, one.node.lineno, one.node.end_lineno or 0) for key, one in parsed.scopes.items()]
        self._deciding = parsed.callers()
        self._changes: list[Replacement] = []
        self._alterations: list[Alteration] = []

    def altered_test(self) -> AlteredTest:
        turns = {one: _seeded(self._test, one, "pins").randrange(2) for one in self._tests}
        pins = {one: self._pin_changes(one) for one in self._tests if (turns[one] + self._variant) % 2 == 0}
        open_tests = set(self._tests) - {one for one, changes in pins.items() if changes}
        if len(self._tests) >= _MANY_TESTS:
            # A program that changes its answers after it meets an alteration fails the unaltered method.
            turn = _seeded(self._test, "left alone").randrange(len(self._tests))
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
        """Return every contradiction of the assertions that a test method reaches, in the order of its sites."""
        found = []
        for number, site in enumerate(self._parsed.sites(test)):
            seed = _seeded(self._test, self._variant, test, number)
            for change in contradictions(Writer(self._source, site, seed, self._pins)):
                line = self._source.line(change.start)
                holding = (key for key, first, last in self._places if first <= line <= last)
                tests = self._deciding.get(next(holding, ""), frozenset()) | {test}
                found.append(Candidate(change, tests, name_of(site.node)))
        return found

    def _chosen(self, test: str, candidates: list[Candidate]) -> Candidate | None:
        """Choose a candidate of rank OPERAND or better, or else of the best rank; the variant selects which."""
        if not candidates:
            return None
        order = _seeded(self._test, test)
        shuffled = sorted(candidates, key=lambda one: (one.change.rank, order.random()))
        limit = max(OPERAND, shuffled[0].change.rank)
        pool = [one for one in shuffled if one.change.rank <= limit]
        return pool[self._variant % min(len(pool), VARIANTS)]

    def _pin_changes(self, test: str) -> list[Replacement]:
        operands = [one for site in self._parsed.sites(test) for one in compared_operands(site.node) or ()]
        pinned = [(one, self._pins.get(pin_id(one), "")) for one in operands]
        known = [(one, literal) for one, literal in pinned if literal and evaluated_text(literal) is not None]
        return [change for one, literal in known for change in self._source.change(one, literal, LITERAL)]

    def _add(self, changes: Iterable[Replacement], tests: Iterable[str], kind: Literal["contradiction", "pin"]) -> None:
        for change in changes:
            overlapping = [one for one in self._changes if one.start < change.end and change.start < one.end]
            if overlapping and change not in overlapping:
                continue
            self._changes += [] if overlapping else [change]
            before = self._source.slice(change.start, change.end)
            line = self._source.line(change.start)
            self._alterations += [Alteration(test, line, kind, before, change.text) for test in sorted(tests)]


@untrusted_text.with_fallback(lambda test, _entry_point: test)
def copying_text(test: str, entry_point: str) -> str:
    """Return the test text with a deep copy of each argument in calls of the function: they share no objects then."""
    module = tree_of(test)
    if module is None:
        return test
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == entry_point:
            node.args = [_copied(one) for one in node.args]
            node.keywords = [ast.keyword(one.arg, _copied(one.value)) for one in node.keywords]
    return ast.unparse(ast.fix_missing_locations(module))


def _copied(node: ast.expr) -> ast.expr:
    copy = ast.parse("__import__('copy').deepcopy", mode="eval").body
    return node if isinstance(node, ast.Starred | ast.Constant) else ast.Call(copy, [node], [])


#: Test doubles, interpreter settings, attributes of modules and of the function: these differ between the processes.
_APART = frozenset(
    """patch Mock MagicMock AsyncMock NonCallableMock PropertyMock create_autospec mock_open setattr delattr
    localcontext getcontext simplefilter filterwarnings catch_warnings umask tzset lockf flock dup2 redirect_stderr
    reload stderr stdin setrecursionlimit getattr hasattr inspect signature __dict__ __globals__
    __code__""".split()  # noqa: SIM905 -- as a list it takes a screen
)


def _undecided(solution: str, test: str, entry_point: str, imports: str = "") -> AlteredTest:
    binding = f"{entry_point} = {SEPARATED}({entry_point!r}, {entry_point}, {imports!r})"
    return AlteredTest(f"{solution}\n\n{binding}\n{test}", ())


@untrusted_text.with_fallback(_undecided)
def separated_test(solution: str, test: str, entry_point: str) -> AlteredTest:
    """Return the text for a separated execution, and the test methods that a correct program passes with it."""
    module, own = tree_of(test), tree_of(solution)
    if module is None or own is None:
        return _undecided(solution, test, entry_point)
    imports = [ast.unparse(node) for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    text = _undecided(solution, test, entry_point, "\n".join(imports)).text
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "TestCases"]
    parts = [part for node in classes for part in node.body if isinstance(part, ast.FunctionDef)]
    methods = [part for part in parts if part.name.startswith("test")]
    # Names that the solution's top-level statements bind, except by imports.
    defined = bound_by(node for node in own.body if not isinstance(node, ast.Import | ast.ImportFrom))
    defined -= {entry_point} | bound_by(module.body)
    inside = {id(part) for method in methods for part in ast.walk(method)}
    apart = defined | _APART
    if any(_is_apart(part, apart, entry_point) for part in ast.walk(module) if id(part) not in inside):
        return AlteredTest(text, ())
    # Methods with an assertion, or a call of a helper that may hold an assertion, that mean the same in both processes.
    names = set()
    for method in methods:
        nodes = list(ast.walk(method))
        calls_own = any(isinstance(node, ast.Call) and key_of(node.func).startswith("self.") for node in nodes)
        if (assertions_in(nodes) or calls_own) and not any(_is_apart(node, apart, entry_point) for node in nodes):
            names.add(method.name)
    return AlteredTest(text, tuple(Alteration(name, 0, "separate", "", "") for name in sorted(names)))


def _is_apart(node: ast.AST, names: frozenset[str], entry_point: str) -> bool:
    """Tell if a node may have different meanings in the test's process and in the program's process."""
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


#: Prefix of printed lines with recorded values.
_PREFIX = "@recorded-operand@ "
_RECORD = "_record_operand"
_RECORDER = f"""
def {_RECORD}(site, compute):
    import json, math, sys
    def is_plain(value):
        if type(value) in (list, tuple, set):
            return all(is_plain(one) for one in value)
        if type(value) is dict:
            return all(is_plain(key) and is_plain(one) for key, one in value.items())
        if type(value) is float:
            return math.isfinite(value)
        return value is None or type(value) in (int, str, bytes, bool)
    try:
        value = compute()
        if isinstance(value, float):  # NumPy's as well
            value = float(value)
        text = ascii(value)
        if len(text) <= 2000 and is_plain(value) and text != "set()":
            print({_PREFIX!r} + json.dumps([site, text]), file=sys.__stdout__, flush=True)
    except BaseException:
        pass
"""


@untrusted_text.with_fallback(lambda _test, _entry_point: "")
def recording_text(test: str, entry_point: str) -> str:
    """Return the test text with each assertion replaced by a print of its expected value; empty if there is none.

    The text ignores exceptions, so that it can run with a program that returns nothing.
    """
    module = tree_of(test)
    if module is None:
        return ""
    parsed = ParsedTest(module, entry_point)
    operands = {id(node): found for node, found in _closed_operands(parsed)}
    if not any(operands.values()):
        return ""
    recorded = _Recording(operands, set(parsed.scopes)).visit(module)
    recorded.body += untrusted_text.parse(_RECORDER).body  # at the end, as imports from __future__ must come first
    return ast.unparse(ast.fix_missing_locations(recorded))


def read_recording(stdout: str) -> dict[str, str]:
    """Read the literals by site from the output of the recording text; leave out sites with several values."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in stdout.splitlines():
        _, marked, content = line.partition(_PREFIX)
        with suppress(ValueError, RecursionError):
            match json.loads(content) if marked else None:
                case [str() as site, str() as literal] if evaluated_text(literal) is not None:
                    found[site].add(literal)
    return {site: next(iter(literals)) for site, literals in found.items() if len(literals) == 1}


def _closed_operands(parsed: ParsedTest) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """Yield each assertion with at most one operand that the test alone computes and that is no literal."""
    for scope in parsed.scopes.values():
        closed = _ClosedExpressions(scope)
        for node in assertions_in(ast.walk(scope.node)):
            operands = reversed(compared_operands(node) or ())
            # Skip literals and names bound to a literal: no program can forge them.
            computed = (one for one in operands if not any(map(evaluated, filter(None, (one, scope.definition(one))))))
            yield node, [one for one in computed if closed.holds(one)][:1]


_Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.For | ast.With | ast.AsyncWith


class _Recording(ast.NodeTransformer):
    """Transformer that replaces assertions by recording calls, and wraps statements so that exceptions are ignored."""

    def __init__(self, operands: dict[int, list[ast.expr]], helpers: set[str]) -> None:
        self._operands, self._helpers = operands, helpers

    def _visit_block(self, node: _Block) -> ast.AST:
        if isinstance(node, ast.With | ast.AsyncWith):
            node.items = [one for one in node.items if not syntax.expects_failure(one)]
        self.generic_visit(node)
        node.body = [_forgiven(one) for one in node.body]
        is_empty = isinstance(node, ast.With | ast.AsyncWith) and not node.items
        return ast.If(ast.Constant(value=True), node.body, []) if is_empty else node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_For = _visit_block  # noqa: N815 -- as ast calls them
    visit_With = visit_AsyncWith = _visit_block  # noqa: N815 -- as ast calls them

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.Expr(self._record(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self._record(node) if syntax.is_assertion(node) and key_of(node.func) not in self._helpers else node

    def _record(self, node: ast.AST) -> ast.expr:
        for operand in self._operands.get(id(node), []):
            arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            given: list[ast.expr] = [ast.Constant(pin_id(operand)), ast.Lambda(arguments, operand)]
            return ast.Call(ast.Name(_RECORD, ast.Load()), given, [])
        return ast.Constant(None)


def _forgiven(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Global | ast.Nonlocal | ast.Pass | ast.Raise):
        return statement
    handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [ast.Pass()])
    return ast.Try([statement], [handler], [], [])


#: Names that tests use without importing them, because the task's imports bind them.
_CONVENTIONAL = frozenset(
    """np pd math string re json itertools statistics collections Counter OrderedDict defaultdict base64 hashlib
    Fraction operator functools textwrap""".split()  # noqa: SIM905 -- as a list it takes a screen
)
#: Names and attributes whose value may differ between executions, or comes from outside the test.
_UNSTABLE = frozenset(
    """open input id eval exec globals locals vars hash object print dir memoryview iter next compile breakpoint
    random rand randn randint choice shuffle sample secrets uuid uuid1 uuid4 time now today utcnow time_ns
    perf_counter monotonic urandom getpid environ getcwd getenv tempfile mkdtemp mkstemp TemporaryDirectory
    NamedTemporaryFile listdir exists glob walk stat getsize getmtime read_csv read_json read_excel read_text
    read_bytes path Path datetime date locale socket requests subprocess Mock MagicMock patch mock plt sys
    platform threading __dict__ default_rng RandomState Faker fake getcontext localcontext decimal Decimal format
    str repr to_string set_printoptions setlocale strftime isoformat""".split()  # noqa: SIM905 -- as a list it takes a screen
)
_MOST_DEPTH = 12


class _ClosedExpressions:
    def __init__(self, scope: Scope) -> None:
        self._scope, self._parsed = scope, scope.parsed
        fixtures = [one.node for key, one in scope.parsed.scopes.items() if key in ("self.setUp", "self.setUpClass")]
        parts = (part for node in (scope.node, *fixtures) for part in ast.walk(node))
        # Names and self attributes on which the function or a fixture calls a method as a statement (a side effect).
        calls = [part.value for part in parts if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)]
        holders = [one.func.value for one in calls if isinstance(one.func, ast.Attribute)]
        self._changed = {key_of(part) for one in holders for part in ast.walk(one)} - {"", "self"}

    def holds(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Tell if an expression is built only from literals, libraries and functions of the test."""
        parts = list(ast.walk(node))
        if not depth or self._scope.depends(node):
            return False
        if any(isinstance(part, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for part in parts):
            return False
        targets = [name for part in parts if isinstance(part, ast.comprehension) for name in ast.walk(part.target)]
        bound = {"self"} | {part.arg for part in parts if isinstance(part, ast.arg)}
        bound |= {one.id for one in targets if isinstance(one, ast.Name)}
        named = (part for part in parts if not isinstance(part, ast.Name) or part.id not in bound)
        return all(self._holds_part(part, depth) for part in named if isinstance(part, ast.Attribute | ast.Name))

    def _holds_part(self, node: ast.Attribute | ast.Name, depth: int) -> bool:
        key, parsed = key_of(node), self._parsed
        name = node.id if isinstance(node, ast.Name) else node.attr
        is_local = isinstance(node, ast.Name) and name in self._scope.bindings
        if name in _UNSTABLE:
            return False
        if key in parsed.scopes and not is_local:
            return self._is_stable(key)
        if is_local or "." in key:
            # A variable that is assigned once, from such an expression, and not changed afterwards.
            definition = self._scope.definition(node)
            return definition is not None and key not in self._changed and self.holds(definition, depth - 1)
        if key in parsed.constants:
            return self.holds(parsed.constants[key], depth - 1)
        return not key or key in parsed.imported or key in _CONVENTIONAL or hasattr(builtins, key)

    def _is_stable(self, key: str) -> bool:
        """Tell if a helper, with all helpers that it calls, uses no unstable names, program values or attributes."""
        parts = [part for one in self._parsed.reached_from(key) for part in ast.walk(self._parsed.scopes[one].node)]
        names = {getattr(part, "id", getattr(part, "attr", "")) for part in parts}
        attributes = {key_of(part) for part in parts if isinstance(part, ast.Attribute)} - {""}
        return key not in self._parsed.tainted and not names & _UNSTABLE and attributes <= set(self._parsed.scopes)
