"""Edit a program's text at the places of its syntax tree, including expressions within f-strings."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from bigcodeflow.core import untrusted_text

_LINE_END = re.compile(r"\r\n?|\n")
_LITERAL_START = re.compile(r"([rRbBuUfF]{0,2})('''|\"\"\"|'|\")")
_BETWEEN_LITERALS = re.compile(r"(?:\s|\\\r?\n|#[^\n]*)+")


class UnsafeError(Exception):
    """Raised if a text cannot be changed with certainty that its meaning stays; the message says why."""


class Edit(NamedTuple):
    """Replacement of characters; the offsets refer to the text before any edit."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits made; they may be in any order and repeated, but must not overlap."""
    parts, done = list[str](), 0
    for edit in sorted(set(edits)):
        if edit.start < done:
            raise UnsafeError(f"two edits overlap at character {edit.start}")
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    return "".join([*parts, text[done:]])


class Source:
    """Parsed text, and its offset in the whole text that is edited."""

    def __init__(self, text: str, base: int = 0) -> None:
        self.text, self.base = text, base
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def start(self, node: Any) -> int:
        """Return the offset in the whole text at which a node begins."""
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: Any) -> int:
        """Return the offset in the whole text after a node."""
        return self._offset(node.end_lineno, node.end_col_offset)

    def segment(self, node: Any) -> str:
        """Return the text of a node."""
        return self.text[self.start(node) - self.base : self.end(node) - self.base]

    def _offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column; the parser counts columns in bytes of UTF-8."""
        first = self._starts[line - 1]
        following = self._starts[line] if line < len(self._starts) else len(self.text)
        return self.base + first + len(self.text[first:following].encode()[:column].decode())


def tree_of(text: str) -> ast.Module:
    """Return the syntax tree of a text.

    Raises:
        UnsafeError: the parser refuses the text.
    """
    try:
        return untrusted_text.parse(text)
    except untrusted_text.REFUSALS as error:
        raise UnsafeError(f"it cannot be parsed: {error}") from None


class Visitor(ast.NodeVisitor):
    """Visit a tree with places in its text that are the same on every Python version.

    Python 3.11 gives wrong places within f-strings, so their expressions are read from the text and parsed separately.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Visit the expressions of an f-string with their places in the text."""
        outer, begin = self.source, self.source.start(node)
        for field in fields_of(outer.segment(node)):
            self.source = Source(f"({field.text})", begin + field.start - 1)
            self.visit_field(field, tree_of(self.source.text))
            self.source = outer

    def visit_field(self, field: "Field", tree: ast.Module) -> None:
        """Visit one expression of an f-string."""
        del field
        self.visit(tree)


class Field(NamedTuple):
    """Expression in an f-string's braces."""

    start: int
    """Offset within the literal's text."""
    text: str
    shows_itself: bool
    """True if an equals sign follows, so that the text of the expression is part of the value."""


def fields_of(literals: str) -> Iterator[Field]:
    """Yield the expressions of an f-string or of several adjacent literals, including those of format specs."""
    place = 0
    while place < len(literals):
        if gap := _BETWEEN_LITERALS.match(literals, place):
            place = gap.end()
            continue
        match = _LITERAL_START.match(literals, place)
        if match is None:
            raise UnsafeError("a string literal is not understood")
        end = _literal_end(literals, match.end(), match[2])
        if "f" in match[1].lower():
            yield from _fields_within(literals, match.end(), end)
        place = end + len(match[2])


def _literal_end(text: str, place: int, quote: str) -> int:
    """Return the place of the closing quote; code for Python 3.10 has no quote of the same kind in its fields."""
    while not text.startswith(quote, place):
        place += 2 if text[place : place + 1] == "\\" else 1
        if place >= len(text):
            raise UnsafeError("a string literal does not end")
    return place


def _fields_within(text: str, place: int, end: int) -> Iterator[Field]:
    while place < end:
        if text.startswith(("{{", "}}"), place):
            place += 2
        elif text[place] == "{":
            stop = _expression_end(text, place + 1, end)
            raw = text[place + 1 : stop]
            bare = raw.rstrip()
            shows_itself = bare.endswith("=") and not bare.endswith(("==", "!=", "<=", ">="))
            yield Field(place + 1, bare.removesuffix("=") if shows_itself else raw, shows_itself)
            place = stop
            if text.startswith("!", place):
                place += 2
            if text.startswith(":", place):
                close = _spec_end(text, place + 1, end)
                yield from _fields_within(text, place + 1, close)
                place = close
            place += 1
        else:
            place += 1


def _expression_end(text: str, place: int, end: int) -> int:
    """Return the place where the expression's conversion, format spec or closing brace begins."""
    depth = 0
    while place < end:
        character = text[place]
        if character in "'\"":
            place = _literal_end(text, place + 1, character)
        elif character in "([{":
            depth += 1
        elif depth and character in ")]}":
            depth -= 1
        elif not depth and (character in "}:" or (character == "!" and text[place + 1] != "=")):
            return place
        place += 1
    raise UnsafeError("a field of an f-string does not end")


def _spec_end(text: str, place: int, end: int) -> int:
    depth = 0
    while place < end and (depth or text[place] != "}"):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
    return place
