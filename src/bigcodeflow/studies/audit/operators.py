"""Mutation operators: small faults that are put into a program, each in one place of its text."""

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_BOUNDARIES = {("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")}
_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not",
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
    """Replacement for a segment of a program; offsets are bytes of its UTF-8 text."""

    start: int
    end: int
    line: int
    """1-based line where the segment begins."""
    operator: str
    before: str
    after: str
    node: ast.AST
    """Changed node of the syntax tree."""

    def applied(self, program: str) -> str:
        """Return the program with the change; the number of lines stays the same."""
        content = program.encode()
        lines = "\n" * (content.count(b"\n", self.start, self.end) - self.after.count("\n"))
        after = f"{self.after[:-1]}{lines})" if self.after.startswith("(") else f"{self.after}{lines}"
        return (content[: self.start] + after.encode() + content[self.end :]).decode()


class Text:
    """Text of a program and the byte offsets of its nodes; Python counts columns in bytes."""

    def __init__(self, program: str, tree: ast.Module) -> None:
        self._bytes = program.encode()
        #: Ids of conditions, which are negated as a whole.
        self.tests = {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp | ast.While)}
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        #: Ids of calls that are statements; the operator "statement left out" removes these.
        self.statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        self._modules = {(one.asname or one.name).partition(".")[0] for node in imports for one in node.names}
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> tuple[int, int]:
        """Return the offsets of a node's first byte and of the byte after its last."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end_column

    def of(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """Return the source text of a node."""
        start, end = self.span(node)
        return self._bytes[start:end].decode()

    def slice(self, start: int, end: int) -> str:
        """Return the text between two byte offsets."""
        return self._bytes[start:end].decode()

    def is_value(self, node: ast.expr) -> bool:
        """Tell if a node may hold data, because it is not an imported name."""
        return not (isinstance(node, ast.Name) and node.id in self._modules)

    def line(self, position: int) -> int:
        """Return the 1-based number of the line that contains a byte."""
        return bisect_right(self._starts, position)

    def change(self, node: ast.expr | ast.stmt, operator: str, after: str) -> Change:
        """Return the change that replaces a node."""
        return self.between(*self.span(node), operator, after, node)

    def between(self, start: int, end: int, operator: str, after: str, node: ast.AST) -> Change:
        """Return the change that replaces a segment, which belongs to `node`."""
        return Change(start, end, self.line(start), operator, self.slice(start, end), after, node)


def changes_of(tree: ast.Module, program: str, first_line: int, entry_point: str) -> Iterator[Change]:
    """Yield every change of the code from `first_line` on, and of the defaults of the entry point."""
    text = Text(program, tree)
    for node in _nodes(tree):
        place = node.target if isinstance(node, ast.comprehension) else node
        if getattr(place, "lineno", 0) >= first_line:
            yield from (change for make in _OPERATORS for change in make(node, text))
        elif isinstance(node, ast.FunctionDef) and node.name == entry_point:
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                for part in ast.walk(default):
                    yield from (one._replace(operator="default") for one in _constants(part, text))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except docstrings and the inside of f-strings, whose positions Python 3.11 does not give."""
    for child in ast.iter_child_nodes(tree):
        is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not is_text:
            yield child
        if not is_text and not isinstance(child, ast.JoinedStr):
            yield from _nodes(child)


def _comparisons(node: ast.AST, text: Text) -> Iterator[Change]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            own = _SYMBOLS[type(operator)]
            for other in _COMPARISONS[type(operator)]:
                kind = "comparison boundary" if (own, other) in _BOUNDARIES else "comparison"
                yield text.change(node, kind, f"(({text.of(left)}) {other} ({text.of(right)}))")


def _arithmetic(node: ast.AST, text: Text) -> Iterator[Change]:
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            other = _ARITHMETIC[type(operator)]
            if not (isinstance(operator, ast.Mod) and isinstance(left, ast.Constant | ast.JoinedStr)):
                yield text.change(node, "arithmetic operator", f"(({text.of(left)}) {other} ({text.of(right)}))")
        case ast.AugAssign(target=target, op=operator, value=value) if type(operator) in _ASSIGNED:
            other = _ASSIGNED[type(operator)]
            yield text.change(node, "arithmetic operator", f"{text.of(target)} {other} {text.of(value)}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield text.change(node, "arithmetic operator", f"({text.of(operand)})")


def _conditions(node: ast.AST, text: Text) -> Iterator[Change]:
    match node:
        case ast.BoolOp(op=operator, values=values):
            word = "or" if isinstance(operator, ast.And) else "and"
            yield text.change(
                node, "boolean operator", "(" + f" {word} ".join(f"({text.of(one)})" for one in values) + ")"
            )
            for value in values:
                rest = [one for one in values if one is not value]
                own = "and" if isinstance(operator, ast.And) else "or"
                parts = f" {own} ".join(f"({text.of(one)})" for one in rest)
                yield text.change(node, "condition left out", f"({parts})")
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield text.change(test, "negated condition", f"(not ({text.of(test)}))")
        case ast.comprehension(ifs=conditions):
            for one in conditions:
                yield text.change(one, "negated condition", f"(not ({text.of(one)}))")
                yield text.change(one, "condition left out", "(True)")
        case ast.UnaryOp(op=ast.Not(), operand=operand) if id(node) not in text.tests:
            yield text.change(node, "negated condition", f"(bool({text.of(operand)}))")


def _constants(node: ast.AST, text: Text) -> Iterator[Change]:
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
            yield text.change(node, "constant", f"({text.of(node)} 'q')")


def _statements(node: ast.AST, text: Text) -> Iterator[Change]:
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


def _returns(value: ast.expr, text: Text) -> Iterator[Change]:
    match value:
        case ast.Constant(value=None | bool()):
            return
        case ast.Tuple(elts=[first, second, *rest]):
            swapped = ", ".join(text.of(one) for one in (second, first, *rest))
            yield text.change(value, "return value", f"({swapped})")
    yield text.change(value, "return value", "(None)")


def _calls(node: ast.AST, text: Text) -> Iterator[Change]:
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
        yield text.change(node, "call left out", f"({text.of(node.func.value)})")
    given = (one for one in node.args if not isinstance(one, ast.Starred | ast.GeneratorExp | ast.Constant))
    for argument in list(given)[:1]:
        yield text.change(node, "call left out", f"({text.of(argument)})")


def _arguments(node: ast.Call, text: Text) -> Iterator[Change]:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    match node.args:
        case [first, second, *_] if not isinstance(first, ast.Starred) and not (
            isinstance(second, ast.Starred) or name in _NOT_SWAPPED
        ):
            (start, first_end), (second_start, end) = text.span(first), text.span(second)
            between = text.slice(first_end, second_start)
            swapped = f"{text.of(second)}{between}{text.of(first)}"
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


def _exceptions(node: ast.AST, text: Text) -> Iterator[Change]:
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name) as function)):
            yield text.change(function, "other exception", _EXCEPTIONS.get(name, "ValueError"))


def _loops(node: ast.AST, text: Text) -> Iterator[Change]:
    match node:
        case ast.For(iter=ast.expr() as source) | ast.comprehension(iter=ast.expr() as source, is_async=0):
            yield text.change(source, "first iteration left out", f"(list({text.of(source)})[1:])")


_OPERATORS: Sequence[Callable[[ast.AST, Text], Iterator[Change]]] = (
    _comparisons, _arithmetic, _conditions, _constants, _statements, _calls, _exceptions, _loops,
)  # fmt: skip
