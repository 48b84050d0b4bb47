"""Mutation operators: small faults that are put into a program, each in one place of its text."""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from bigcodeflow.core.source_text import Edit, SourceText, called_name

#: Symbols of comparisons, each with those that replace it.
_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.MatMult: "*",
}  # fmt: skip
_ASSIGNED = {ast.Add: "-=", ast.Sub: "+=", ast.Mult: "/=", ast.Div: "*="}
_CALLS = (
    ("mean", "median"), ("sum", "max"), ("min", "max"), ("lower", "upper"), ("any", "all"), ("append", "remove"),
    ("ceil", "floor"), ("std", "var"), ("argmax", "argmin"), ("head", "tail"), ("startswith", "endswith"),
    ("lstrip", "rstrip"), ("match", "search"), ("sin", "cos"), ("idxmax", "idxmin"), ("union", "intersection"),
    ("cumsum", "cumprod"), ("sort_values", "nlargest"), ("isdigit", "isalpha"), ("basename", "dirname"),
    ("log", "exp"), ("ravel", "squeeze"), ("fit_transform", "fit"), ("zeros", "ones"), ("sha256", "md5"),
    ("values", "keys"), ("isfile", "isdir"), ("findall", "split"), ("nunique", "count"), ("read", "readline"),
)  # fmt: skip
#: Replacement for a call, by name; most pairs of names are replaced in both directions.
_OTHER_CALL = {
    **dict(_CALLS),
    **{other: name for name, other in _CALLS if (name, other) not in {("sum", "max"), ("sort_values", "nlargest")}},
    "max": "min",
    "strip": "lstrip",
    "capitalize": "lower",
    "title": "lower",
    "extend": "append",
    "prod": "sum",
}
#: Calls whose first two arguments are not swapped: their order has no effect, or only on random draws, or the other
#: order raises TypeError in every call, which no test can miss.
_NOT_SWAPPED = frozenset(
    {"max", "min", "maximum", "minimum", "uniform", "isinstance", "issubclass", "hasattr", "getattr", "setattr"}
)
_EXCEPTIONS = {"ValueError": "KeyError", "TypeError": "ValueError"}


class Change(NamedTuple):
    """Change of a program: the segment that is replaced, and the text that replaces the segment."""

    edit: Edit
    line: int
    """1-based line where the segment begins."""
    operator: str
    before: str
    node: ast.AST
    """Changed node of the syntax tree."""


class Program(SourceText):
    """Text of a program, with facts about its syntax nodes that the mutation operators need."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        nodes = list(ast.walk(self.tree))
        #: Ids of conditions, which are negated as a whole.
        self.tests = {id(node.test) for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While)}
        #: Ids of calls that are statements; the operator "statement left out" removes these.
        self.statements = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        self._modules = {(one.asname or one.name).partition(".")[0] for node in imports for one in node.names}

    def is_value(self, node: ast.expr) -> bool:
        """Tell if an expression may hold data: True unless the expression is an imported name."""
        return not (isinstance(node, ast.Name) and node.id in self._modules)

    def change(self, node: ast.expr | ast.stmt, operator: str, after: str) -> Change:
        """Return the change that replaces a node by the text ``after``."""
        return self.between(*self.span(node), operator, after, node)

    def between(self, start: int, end: int, operator: str, after: str, node: ast.AST) -> Change:
        """Return the change that replaces the text from byte ``start`` to byte ``end``, which is a part of ``node``."""
        return Change(Edit(start, end, after), self.line(start), operator, self.slice(start, end), node)


def changes_of(text: Program, first_line: int, entry_point: str) -> Iterator[Change]:
    """Yield every possible change of the lines from ``first_line`` on and of the entry point's default arguments."""
    for node in _nodes(text.tree):
        place = node.target if isinstance(node, ast.comprehension) else node
        if getattr(place, "lineno", 0) >= first_line:
            yield from (change for make in _OPERATORS for change in make(node, text))
        elif isinstance(node, ast.FunctionDef) and node.name == entry_point:
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                for part in ast.walk(default):
                    yield from (one._replace(operator="default") for one in _constants(part, text))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except docstrings and parts of f-strings: quotes in a replacement could end an f-string."""
    for child in ast.iter_child_nodes(tree):
        is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not is_text:
            yield child
        if not is_text and not isinstance(child, ast.JoinedStr):
            yield from _nodes(child)


def _comparisons(node: ast.AST, text: Program) -> Iterator[Change]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            own, *others = _COMPARISONS[type(operator)]
            for other in others:
                kind = "comparison boundary" if own.strip("=") == other.strip("=") else "comparison"
                yield text.change(node, kind, f"(({text.segment(left)}) {other} ({text.segment(right)}))")


def _arithmetic(node: ast.AST, text: Program) -> Iterator[Change]:
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            other = _ARITHMETIC[type(operator)]
            if not (isinstance(operator, ast.Mod) and isinstance(left, ast.Constant | ast.JoinedStr)):
                yield text.change(
                    node, "arithmetic operator", f"(({text.segment(left)}) {other} ({text.segment(right)}))"
                )
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in _ASSIGNED:
            other = _ASSIGNED[type(operator)]
            yield text.change(node, "arithmetic operator", f"{text.segment(target)} {other} {text.segment(value)}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield text.change(node, "arithmetic operator", f"({text.segment(operand)})")


def _conditions(node: ast.AST, text: Program) -> Iterator[Change]:
    match node:
        case ast.BoolOp(op=operator, values=values):
            own, other = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
            parts = [f"({text.segment(one)})" for one in values]
            yield text.change(node, "boolean operator", f"({f' {other} '.join(parts)})")
            for place in range(len(parts)):
                rest = f" {own} ".join(parts[:place] + parts[place + 1 :])
                yield text.change(node, "condition left out", f"({rest})")
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield text.change(test, "negated condition", f"(not ({text.segment(test)}))")
        case ast.comprehension(ifs=conditions):
            for one in conditions:
                yield text.change(one, "negated condition", f"(not ({text.segment(one)}))")
                yield text.change(one, "condition left out", "(True)")
        case ast.UnaryOp(op=ast.Not(), operand=operand) if id(node) not in text.tests:
            yield text.change(node, "negated condition", f"(bool({text.segment(operand)}))")


def _constants(node: ast.AST, text: Program) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool(value)):
            yield text.change(node, "constant", str(not value))
        case ast.Constant(value=int(value)):
            yield text.change(node, "constant", str(value + 1))
            if value > 1:
                yield text.change(node, "constant", str(value - 1))
        case ast.Constant(value=float(value)):
            yield text.change(node, "constant", repr(value + 1.0))
        case ast.Constant(value=str(value)):
            yield text.change(node, "constant", repr(f"{value}q"))
            if value:
                yield text.change(node, "constant", "''")
        case ast.JoinedStr():
            yield text.change(node, "constant", f"({text.segment(node)} 'q')")


def _statements(node: ast.AST, text: Program) -> Iterator[Change]:
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name) as function)):
            yield text.change(function, "other exception", _EXCEPTIONS.get(name, "ValueError"))
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield text.change(node, "statement left out", "pass")
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield text.change(node, "statement left out", "pass")
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value)):
                yield text.change(node, "statement left out", "pass")
        case ast.Return(value=ast.expr() as value):
            yield from _returns(value, text)


def _returns(value: ast.expr, text: Program) -> Iterator[Change]:
    match value:
        case ast.Constant(value=None | bool()):
            return
        case ast.Tuple(elts=[first, second, *rest]):
            swapped = ", ".join(text.segment(one) for one in (second, first, *rest))
            yield text.change(value, "return value", f"({swapped})")
    yield text.change(value, "return value", "(None)")


def _calls(node: ast.AST, text: Program) -> Iterator[Change]:
    if not isinstance(node, ast.Call):
        return
    yield from _arguments(node, text)
    match node.func:
        case ast.Attribute(attr=name) if name in _OTHER_CALL:
            end = text.span(node.func)[1]
            yield text.between(end - len(name.encode()), end, "other call", _OTHER_CALL[name], node)
        case ast.Name(id=name) if name in _OTHER_CALL:
            yield text.between(*text.span(node.func), "other call", _OTHER_CALL[name], node)
    if id(node) in text.statements:
        return
    if isinstance(node.func, ast.Attribute) and text.is_value(node.func.value):
        yield text.change(node, "call left out", f"({text.segment(node.func.value)})")
    given = (one for one in node.args if not isinstance(one, ast.Starred | ast.GeneratorExp | ast.Constant))
    for argument in list(given)[:1]:
        yield text.change(node, "call left out", f"({text.segment(argument)})")


def _arguments(node: ast.Call, text: Program) -> Iterator[Change]:
    match node.args:
        case [first, second, *_] if not isinstance(first, ast.Starred) and not (
            isinstance(second, ast.Starred) or called_name(node) in _NOT_SWAPPED
        ):
            (start, first_end), (second_start, end) = text.span(first), text.span(second)
            between = text.slice(first_end, second_start)
            swapped = f"{text.segment(second)}{between}{text.segment(first)}"
            yield text.between(start, end, "swapped arguments", swapped, node)
    parts: list[ast.expr | ast.keyword] = sorted([*node.args, *node.keywords], key=text.span)
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        place = parts.index(keyword)
        start, end = text.span(keyword)
        if place:
            start = text.span(parts[place - 1])[1]
        elif len(parts) > 1:
            end = text.span(parts[1])[0]
        lines = "\n" * text.slice(start, end).count("\n")
        yield text.between(start, end, "keyword argument left out", lines, keyword)


def _loops(node: ast.AST, text: Program) -> Iterator[Change]:
    match node:
        case ast.For(iter=ast.expr() as source) | ast.comprehension(iter=ast.expr() as source, is_async=0):
            yield text.change(source, "first iteration left out", f"(list({text.segment(source)})[1:])")


_OPERATORS: Sequence[Callable[[ast.AST, Program], Iterator[Change]]] = (
    _comparisons, _arithmetic, _conditions, _constants, _statements, _calls, _loops,
)  # fmt: skip
