"""How test texts are written: assertions, calls that read files, and segments replaced in place, line by line."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Assertion = ast.Call | ast.Assert

_WRITING = re.compile(r"[wax][bt+]*")
_LINE_END = re.compile(rb"\r\n|\r|\n")
_OBSERVING = frozenset(
    """listdir glob iglob rglob iterdir walk scandir exists isfile isdir is_file is_dir stat getsize getmtime read_text
    read_bytes read_csv read_json read_excel read_sql imread load_workbook ZipFile namelist getvalue
    fetchall fetchone get_fignums gcf gca""".split()  # noqa: SIM905 -- as a list it takes a screen
)
#: Context managers and calls of which the body is expected to fail.
RAISING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "raises"})
WARNING = frozenset({"assertWarns", "assertWarnsRegex", "assertLogs", "assertNoLogs"})


def key_of(node: ast.AST) -> str:
    """'name' for a name, 'self.name' for an attribute of self or of the class, and nothing for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self" | "cls" | "TestCases"), attr=name):
            return f"self.{name}"
    return ""


def called_name(call: ast.Call) -> str:
    """Last name of what is called, such as 'assertEqual'; empty where it has none."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def is_assertion(node: ast.AST) -> bool:
    """Whether a call is an assertion of unittest, of a mock, or of a library's testing module."""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    own = isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and bool(key_of(node.func)))
    return name in RAISING or (name.startswith("assert") and (not own or name[6:7].isupper() or "_" in name))


def assertions_in(nodes: Iterable[ast.AST]) -> list[Assertion]:
    """The assertions among nodes."""
    found = (node for node in nodes if isinstance(node, ast.Assert | ast.Call))
    return [node for node in found if isinstance(node, ast.Assert) or is_assertion(node)]


def expects_failure(item: ast.withitem) -> bool:
    """Whether the body under a context manager has to raise."""
    call = item.context_expr
    return isinstance(call, ast.Call) and getattr(call.func, "attr", "") in RAISING


def observes(node: ast.AST) -> bool:
    """Whether a call reads files, which the program may have written."""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    if name != "open":
        return name in _OBSERVING
    modes = [getattr(one, "value", None) for one in (*node.args[:2], *(one.value for one in node.keywords))]
    return not any(isinstance(one, str) and _WRITING.fullmatch(one) for one in modes)


class Replacement(NamedTuple):
    """A segment of the text, in bytes, what replaces it, and how well a forger could tell (0: least)."""

    start: int
    end: int
    text: str
    rank: int


class Source:
    """A text that was parsed, and the segments of its nodes; Python counts columns in bytes of UTF-8."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(self._bytes))]

    def span(self, node: ast.expr) -> tuple[int, int]:
        """First byte of a node and the one after its last."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end_column

    def segment(self, node: ast.expr) -> str:
        """The node as it is written."""
        return self.slice(*self.span(node))

    def slice(self, start: int, end: int) -> str:
        """The text between two bytes."""
        return self._bytes[start:end].decode()

    def line(self, position: int) -> int:
        """Number of the line, from 1, that holds a byte."""
        return bisect_right(self._starts, position)

    def change(self, node: ast.expr, text: str, rank: int) -> list[Replacement]:
        """The node replaced; none where the replacement takes more lines than the node."""
        return self.replace(*self.span(node), text, rank)

    def replace(self, start: int, end: int, text: str, rank: int) -> list[Replacement]:
        """The bytes replaced, with line ends added inside brackets until the lines are as many as they were."""
        missing = self._bytes.count(b"\n", start, end) - text.count("\n")
        if missing < 0 or text == self.slice(start, end):
            return []
        lines = "\n" * missing
        return [Replacement(start, end, f"({text}{lines})" if missing else text, rank)]

    def combined(self, node: ast.expr, changes: Sequence[Replacement]) -> list[Replacement]:
        """Several changes inside a node, as one change of the node."""
        return self.change(node, self.altered(changes, node), max(change.rank for change in changes))

    def altered(self, changes: Iterable[Replacement], node: ast.expr | None = None) -> str:
        """A node, or the whole text, with changes inside it, none of which overlap."""
        start, end = self.span(node) if node else (0, len(self._bytes))
        parts = []
        for change in sorted(changes):
            parts += [self.slice(start, change.start), change.text]
            start = change.end
        return "".join([*parts, self.slice(start, end)])
