"""Expected values that a test computes by itself: recorded once, so that a variant can hold them as literals (pins)."""

import ast
import builtins
import json
from collections import defaultdict
from collections.abc import Iterator

from bigcodeflow.core import untrusted_text
from bigcodeflow.execution.integrity.assertions import compared_operands
from bigcodeflow.execution.integrity.literals import evaluated
from bigcodeflow.execution.integrity.operands import evaluated_text, pin_id
from bigcodeflow.execution.integrity.scopes import ParsedTest, Scope
from bigcodeflow.execution.integrity.syntax import assertions_in, expects_failure, is_assertion, key_of

#: Begins the lines that hold recorded values.
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


@untrusted_text.fails_alone(lambda _test, _entry_point: "")
def recording_text(test: str, entry_point: str) -> str:
    """The test text with every assertion replaced by a print of what it expects; empty where there is nothing to print.

    Whatever raises is passed over, so that it can run with a program that returns nothing.
    """
    try:
        module = untrusted_text.parse(test)
    except untrusted_text.REFUSALS:
        return ""
    parsed = ParsedTest(module, entry_point)
    operands = {id(node): found for node, found in _closed_operands(parsed)}
    if not any(operands.values()):
        return ""
    recorded = _Recording(operands, set(parsed.scopes)).visit(module)
    recorded.body += untrusted_text.parse(_RECORDER).body  # last, as imports from __future__ come first
    return ast.unparse(ast.fix_missing_locations(recorded))


def read_recording(stdout: str) -> dict[str, str]:
    """Literals by site, from what the recording text printed; sites with several values are left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in stdout.splitlines():
        _, marked, content = line.partition(_PREFIX)
        if not marked:
            continue
        try:
            match json.loads(content):
                case [str() as site, str() as literal] if evaluated_text(literal) is not None:
                    found[site].add(literal)
        except (ValueError, RecursionError):
            continue
    return {site: next(iter(literals)) for site, literals in found.items() if len(literals) == 1}


def _closed_operands(parsed: ParsedTest) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """Assertions of methods and helpers with the operands that the test alone computes, literals excluded."""
    for scope in parsed.scopes.values():
        closed = ClosedExpressions(scope)
        for node in assertions_in(ast.walk(scope.node)):
            operands = reversed(compared_operands(node) or ())
            # A literal, or a name for one, nothing could forge.
            computed = (one for one in operands if not any(map(evaluated, filter(None, (one, scope.definition(one))))))
            yield node, [one for one in computed if closed.holds(one)][:1]


_Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.For | ast.With | ast.AsyncWith


class _Recording(ast.NodeTransformer):
    """Replaces assertions by records, and lets every statement of a function go on after what it raises."""

    def __init__(self, operands: dict[int, list[ast.expr]], helpers: set[str]) -> None:
        self._operands, self._helpers = operands, helpers

    def _with_forgiven_body(self, node: _Block) -> _Block:
        self.generic_visit(node)
        node.body = [_forgiven(one) for one in node.body]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_For = _with_forgiven_body  # noqa: N815 -- as ast calls them

    def _without_expectations(self, node: ast.With | ast.AsyncWith) -> ast.AST:
        node.items = [one for one in node.items if not expects_failure(one)]
        self._with_forgiven_body(node)
        return node if node.items else ast.If(ast.Constant(value=True), node.body, [])

    visit_With = visit_AsyncWith = _without_expectations  # noqa: N815 -- as ast calls them

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.Expr(self._record(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return self._record(node) if is_assertion(node) and key_of(node.func) not in self._helpers else node

    def _record(self, node: ast.AST) -> ast.expr:
        for operand in self._operands.get(id(node), []):
            site = ast.Constant(pin_id(operand))
            arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            return ast.Call(ast.Name(_RECORD, ast.Load()), [site, ast.Lambda(arguments, operand)], [])
        return ast.Constant(None)


def _forgiven(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Global | ast.Nonlocal | ast.Pass | ast.Raise):
        return statement
    handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [ast.Pass()])
    return ast.Try([statement], [handler], [], [])


#: Names that tests use without importing them, as the task's own imports bind them.
_CONVENTIONAL = frozenset(
    """np pd math string re json itertools statistics collections Counter OrderedDict defaultdict base64 hashlib
    Fraction operator functools textwrap""".split()  # noqa: SIM905 -- as a list it takes a screen
)
#: Names and attributes whose value may differ from one execution to the next, or comes from outside the test.
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


class ClosedExpressions:
    """Judges the expressions of one function of a test text."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._parsed = scope, scope.parsed
        fixtures = [one.node for key, one in scope.parsed.scopes.items() if key in ("self.setUp", "self.setUpClass")]
        parts = (part for node in (scope.node, *fixtures) for part in ast.walk(node))
        # Names and attributes of self of which the function, or a fixture before it, calls a method for its effect.
        calls = [part.value for part in parts if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)]
        holders = [one.func.value for one in calls if isinstance(one.func, ast.Attribute)]
        self._changed = {key_of(part) for one in holders for part in ast.walk(one)} - {"", "self"}

    def holds(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Whether an expression is built from literals, libraries and functions of the test alone."""
        parts = list(ast.walk(node))
        if not depth or self._scope.depends(node):
            return False
        if any(isinstance(part, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for part in parts):
            return False
        targets = [name for part in parts if isinstance(part, ast.comprehension) for name in ast.walk(part.target)]
        bound = {"self"} | {part.arg for part in parts if isinstance(part, ast.arg)}
        bound |= {one.id for one in targets if isinstance(one, ast.Name)}
        attributes = [part for part in parts if isinstance(part, ast.Attribute)]
        names = [part for part in parts if isinstance(part, ast.Name) and part.id not in bound]
        return all(self._holds_attribute(part, depth) for part in attributes) and all(
            self._holds_name(part, depth) for part in names
        )

    def _holds_attribute(self, node: ast.Attribute, depth: int) -> bool:
        key = key_of(node)
        if node.attr in _UNSTABLE:
            return False
        if key in self._parsed.scopes:
            return self._is_stable(key)
        return not key or self._holds_variable(node, key, depth)

    def _holds_name(self, node: ast.Name, depth: int) -> bool:
        name = node.id
        if name in _UNSTABLE:
            return False
        if name in self._scope.bindings:
            return self._holds_variable(node, name, depth)
        if name in self._parsed.scopes:
            return self._is_stable(name)
        if name in self._parsed.constants:
            return self.holds(self._parsed.constants[name], depth - 1)
        return name in self._parsed.imported or name in _CONVENTIONAL or hasattr(builtins, name)

    def _holds_variable(self, node: ast.expr, key: str, depth: int) -> bool:
        """A variable that is assigned once, from such an expression, and that nothing else could have changed."""
        definition = self._scope.definition(node)
        return definition is not None and key not in self._changed and self.holds(definition, depth - 1)

    def _is_stable(self, key: str) -> bool:
        """Whether a helper, with all that it calls, reads nothing but its arguments and the test's constants."""
        parts = [part for one in self._parsed.reached_from(key) for part in ast.walk(self._parsed.scopes[one].node)]
        names = {getattr(part, "id", getattr(part, "attr", "")) for part in parts}
        attributes = {key_of(part) for part in parts if isinstance(part, ast.Attribute)} - {""}
        return key not in self._parsed.tainted and not names & _UNSTABLE and attributes <= set(self._parsed.scopes)
