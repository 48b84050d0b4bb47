"""Expected values that a test computes by itself: recorded once, so that a variant can hold them as literals."""

import ast
import json
from collections import defaultdict
from collections.abc import Iterator

from bigcodeflow.core import untrusted_text
from bigcodeflow.execution.integrity.assertions import compared_operands
from bigcodeflow.execution.integrity.closed import Closed
from bigcodeflow.execution.integrity.literals import evaluated
from bigcodeflow.execution.integrity.operands import evaluated_text, pin_id
from bigcodeflow.execution.integrity.reading import Reading, Scope
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


def _nothing(_test: str, _entry_point: str) -> str | None:
    return None


@untrusted_text.fails_alone(_nothing)
def recording_text(test: str, entry_point: str) -> str | None:
    """The test text with every assertion replaced by a print of what it expects; None where there is nothing to print.

    Whatever raises is passed over, so that it can run with a program that returns nothing.
    """
    try:
        module = untrusted_text.parse(test)
    except untrusted_text.REFUSALS:
        return None
    reading = Reading(module, entry_point)
    operands = {id(node): found for node, found in _closed_operands(reading)}
    if not any(operands.values()):
        return None
    recorded = _Recording(operands, set(reading.scopes)).visit(module)
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


def _closed_operands(reading: Reading) -> Iterator[tuple[ast.AST, list[ast.expr]]]:
    """Assertions of methods and helpers with the operands that the test alone computes, literals excluded."""
    for scope in reading.scopes.values():
        closed = Closed(scope)
        for node in assertions_in(scope.node):
            pairs = list(compared_operands(node))
            found = [one for pair in pairs for one in reversed(pair) if _is_computed(one, scope) and closed.holds(one)]
            yield node, found[:1]


def _is_computed(operand: ast.expr, scope: Scope) -> bool:
    """Whether an operand is neither a literal nor a name for one, which nothing could forge."""
    definition = scope.definition(operand)
    return evaluated(operand) is None and (definition is None or evaluated(definition) is None)


class _Recording(ast.NodeTransformer):
    """Replaces assertions by records, and lets every statement of a function go on after what it raises."""

    def __init__(self, operands: dict[int, list[ast.expr]], helpers: set[str]) -> None:
        self._operands, self._helpers = operands, helpers

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._forgiving_body(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._forgiving_body(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        return self._without_expectations(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        return self._without_expectations(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body = [_forgiven(one) for one in node.body]
        return node

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

    def _forgiving_body(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body = [_forgiven(one) for one in node.body]
        return node

    def _without_expectations(self, node: ast.With | ast.AsyncWith) -> ast.AST:
        node.items = [one for one in node.items if not expects_failure(one)]
        self.generic_visit(node)
        node.body = [_forgiven(one) for one in node.body]
        return node if node.items else ast.If(ast.Constant(value=True), node.body, [])


def _forgiven(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Global | ast.Nonlocal | ast.Pass | ast.Raise):
        return statement
    handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [ast.Pass()])
    return ast.Try([statement], [handler], [], [])
