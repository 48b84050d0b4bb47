"""Recording of expected values that a test computes without the program: contradictions state them as literals."""

import ast
import builtins
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from bigcodeflow.core import untrusted_text
from bigcodeflow.judge.integrity import syntax
from bigcodeflow.judge.integrity.assertions import compared_operands
from bigcodeflow.judge.integrity.literals import evaluated
from bigcodeflow.judge.integrity.operands import evaluated_text
from bigcodeflow.judge.integrity.syntax import ParsedTest, Scope, assertions_in, key_of, pin_id, tree_of

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
    """Return the test text with assertions replaced by prints of expected values; empty if no value can be recorded.

    The text ignores exceptions, so that it also runs with a program whose function does nothing.
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
    """Read literals by 'line:column' from the output of a `recording_text`; leave out operands with several values."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in stdout.splitlines():
        _, marked, content = line.partition(_PREFIX)
        with suppress(ValueError, RecursionError):
            match json.loads(content) if marked else None:
                case [str() as site, str() as literal] if evaluated_text(literal) is not None:
                    found[site].add(literal)
    return {site: next(iter(literals)) for site, literals in found.items() if len(literals) == 1}


def _closed_operands(parsed: ParsedTest) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """Yield (assertion, list); the list holds at most one operand: no literal, computed without the program."""
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
        # A correct program may change what it is given, so that values computed from it differ afterwards.
        given = [call for call in ast.walk(scope.node) if isinstance(call, ast.Call) and scope.calls_program(call)]
        arguments = [one for call in given for one in (*call.args, *(keyword.value for keyword in call.keywords))]
        passed = [part for one in arguments for part in ast.walk(one) if isinstance(part, ast.Name | ast.Attribute)]
        self._changed |= {key_of(one) for one in passed if not self._is_constant(one)}

    def holds(self, node: ast.expr, depth: int = _MOST_DEPTH) -> bool:
        """Tell if an expression uses only literals, libraries and functions of the test, nothing of the program."""
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

    def _is_constant(self, node: ast.expr) -> bool:
        definition = self._scope.definition(node)
        value = evaluated(definition) if definition is not None else None
        return value is not None and isinstance(value[0], int | float | str | bytes | None)

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
        """Tell if a helper and all helpers that it calls avoid names in _UNSTABLE, the program, and data attributes."""
        parts = [part for one in self._parsed.reached_from(key) for part in ast.walk(self._parsed.scopes[one].node)]
        names = {getattr(part, "id", getattr(part, "attr", "")) for part in parts}
        attributes = {key_of(part) for part in parts if isinstance(part, ast.Attribute)} - {""}
        return key not in self._parsed.tainted and not names & _UNSTABLE and attributes <= set(self._parsed.scopes)
