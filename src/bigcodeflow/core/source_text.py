"""Source text of a Python program: its syntax tree, the text of a node, edits of the text, and uses of a variable.

Positions are byte offsets in the UTF-8 form of the text, since Python's parser counts columns in bytes.
"""

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from bigcodeflow.core import untrusted_text

Function = ast.FunctionDef | ast.AsyncFunctionDef
_Place = ast.expr | ast.stmt | ast.arg | ast.keyword
_LINE_END = re.compile(rb"\r\n|\r|\n")
#: Calls that read local variables by their names.
_BY_NAME = frozenset({"locals", "vars", "eval", "exec", "globals"})
#: Text after an expression in an f-string that also shows the expression's text, as ``{x=}`` does.
_SHOWN = re.compile(rb"[\s,)]*=(?!=)")


class UnsafeError(Exception):
    """Error for a planned edit that might change what the program does; the message gives the reason."""


class Edit(NamedTuple):
    """Replacement of a segment of a text; the positions refer to the text before any edit."""

    start: int
    end: int
    text: str


def called_name(call: ast.Call) -> str:
    """Return the last name of the called function, such as 'assertEqual'; empty if the function has no name."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits applied; edits may be in any order and repeated, but must not overlap."""
    content, parts, done = text.encode(), list[bytes](), 0
    for edit in sorted(set(edits)):
        if edit.start < done:
            raise UnsafeError(f"two edits overlap at byte {edit.start}")
        parts += [content[done : edit.start], edit.text.encode()]
        done = edit.end
    return b"".join([*parts, content[done:]]).decode()


class SourceText:
    """Text with its syntax tree and the positions of nodes, also of nodes inside f-strings."""

    def __init__(self, text: str) -> None:
        self.text, self.content = text, text.encode("utf-8", "surrogatepass")
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(self.content))]

    @cached_property
    def tree(self) -> ast.Module:
        """Syntax tree of the text; raises UnsafeError if the parser refuses the text."""
        try:
            return untrusted_text.parse(self.text)
        except untrusted_text.REFUSALS as error:
            raise UnsafeError(f"the program cannot be parsed: {error}") from None

    def span(self, node: _Place) -> tuple[int, int]:
        """Return the position of a node's first byte and the position after its last byte."""
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end_column

    def segment(self, node: _Place) -> str:
        """Return the text of a node."""
        return self.slice(*self.span(node))

    def slice(self, start: int, end: int) -> str:
        """Return the text between two positions."""
        return self.content[start:end].decode()

    def line(self, position: int) -> int:
        """Return the 1-based number of the line that contains a position."""
        return bisect_right(self._starts, position)

    def renamed(self, start: int, name: str, new_name: str) -> Edit:
        """Return the edit that replaces ``name`` at ``start``; raise UnsafeError if other text is at ``start``."""
        end = start + len(name.encode())
        if self.content[start:end] != name.encode():
            raise UnsafeError(f"the program spells {name} in another way, such as with other Unicode characters")
        return Edit(start, end, new_name)

    def keeping_lines(self, edit: Edit) -> Edit:
        """Add the line breaks that the edit would remove, so that all later lines of the text keep their numbers."""
        lines = "\n" * (self.content.count(b"\n", edit.start, edit.end) - edit.text.count("\n"))
        is_enclosed = edit.text.startswith("(")
        return edit._replace(text=f"{edit.text[:-1]}{lines})" if is_enclosed else f"{edit.text}{lines}")

    def uses(self, nodes: Iterable[ast.AST], name: str) -> Iterator[ast.Name]:
        """Yield the Name nodes of a function's variable ``name``; ``nodes`` are the parts of its body to search.

        Raises:
            UnsafeError: the variable is bound or read without a Name node, such as by ``import`` or ``eval``.
        """
        for node in nodes:
            self._refuse_other_use(node, name)
            if isinstance(node, ast.Name) and node.id == name:
                yield node
            yield from self.uses(_parts_with(node, name), name)

    def _refuse_other_use(self, node: ast.AST, name: str) -> None:
        match node:
            case ast.Call(func=ast.Name(id=function)) if function in _BY_NAME:
                raise UnsafeError(f"the program calls {function}(), which may read variables by their names")
            # pandas reads @name in the text of a query as the caller's variable.
            case ast.Constant(value=str(text)) if f"@{name}" in text:
                raise UnsafeError(f"a string contains @{name}, which pandas may read as the variable")
            case ast.FormattedValue(value=value):
                # Python 3.11 counts the braces to a tuple without brackets.
                last = value.elts[-1] if isinstance(value, ast.Tuple) and value.elts else value
                if _SHOWN.match(self.content, self.span(last)[1]) and any(self.uses([value], name)):
                    raise UnsafeError(f"an f-string with = prints the name {name}, so the output would change")
        if name in _bound_without_place(node):
            raise UnsafeError(f"{type(node).__name__} binds {name}, but the syntax tree has no position of this name")


def _parts_with(node: ast.AST, name: str) -> list[ast.AST]:
    """Return the child nodes of ``node`` in which ``name`` means the same variable as outside ``node``."""
    parts = list(ast.iter_child_nodes(node))
    match node:
        case ast.JoinedStr(values=values):
            parts = [one for one in values if isinstance(one, ast.FormattedValue)]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            targets = (part for one in node.generators for part in ast.walk(one.target))
            if any(isinstance(part, ast.Name) and part.id == name for part in targets):
                parts = [node.generators[0].iter]  # only the first iterable is evaluated in the outer scope
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.ClassDef():
            body = node.body if isinstance(node.body, list) else [node.body]
            if _binds(node, body, name):
                within = set(map(id, body))
                parts = [part for part in parts if id(part) not in within]
    return parts


def _binds(scope: Function | ast.Lambda | ast.ClassDef, body: Iterable[ast.AST], name: str) -> bool:
    """Tell if the nested ``scope`` has its own variable ``name``; if so, and if it is a class, raise UnsafeError."""
    is_class = isinstance(scope, ast.ClassDef)
    arguments = () if isinstance(scope, ast.ClassDef) else ast.walk(scope.args)
    if any(isinstance(node, ast.arg) and node.arg == name for node in arguments):
        return True
    own = list(_own_nodes(body))
    if any(isinstance(node, ast.Nonlocal | ast.Global) and name in node.names for node in own):
        return False
    stores = (node.id for node in own if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
    is_bound = name in stores or any(name in _bound_without_place(node) for node in own)
    if is_bound and is_class:
        raise UnsafeError(f"a nested class has its own variable {name}, so the name is ambiguous there")
    return is_bound


def _own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, without the contents of nested scopes and the targets of comprehensions."""
    for node in nodes:
        yield node
        if isinstance(node, ast.comprehension):
            yield from _own_nodes([node.iter, *node.ifs])
        elif not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            yield from _own_nodes(ast.iter_child_nodes(node))


def _bound_without_place(node: ast.AST) -> list[str | None]:
    """Return the names that a node binds or declares without Name nodes, as ``import``, ``def`` and ``global`` do."""
    match node:
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return [*names]
        case ast.alias(name=name, asname=other):
            return [(other or name).split(".")[0]]
    return [getattr(node, "name", None), getattr(node, "rest", None)]
