"""Replacing segments of a test text in place, so that everything else stays on its line."""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\r|\n")


class Change(NamedTuple):
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

    def change(self, node: ast.expr, text: str, rank: int) -> list[Change]:
        """The node replaced; none where the replacement takes more lines than the node."""
        return self.replace(*self.span(node), text, rank)

    def replace(self, start: int, end: int, text: str, rank: int) -> list[Change]:
        """The bytes replaced, with line ends added inside brackets until the lines are as many as they were."""
        missing = self._bytes.count(b"\n", start, end) - text.count("\n")
        if missing < 0 or text == self.slice(start, end):
            return []
        lines = "\n" * missing
        return [Change(start, end, f"({text}{lines})" if missing else text, rank)]

    def combined(self, node: ast.expr, changes: Iterable[Change]) -> list[Change]:
        """Several changes inside a node, as one change of the node."""
        inside = list(changes)
        return self.change(node, self.with_changes(node, inside), max(change.rank for change in inside))

    def with_changes(self, node: ast.expr, changes: Iterable[Change]) -> str:
        """A node as it is written after changes inside it."""
        return self._with(sorted(changes), *self.span(node))

    def altered(self, changes: Iterable[Change]) -> str:
        """The whole text with changes, none of which overlap."""
        return self._with(sorted(changes), 0, len(self._bytes))

    def _with(self, changes: Iterable[Change], start: int, end: int) -> str:
        parts = []
        for change in changes:
            parts += [self.slice(start, change.start), change.text]
            start = change.end
        return "".join([*parts, self.slice(start, end)])
