"""Top-level statements of a program: what each binds, what it needs, and what it may change."""

import ast
import builtins
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from bigcodeflow.core import untrusted_text
from bigcodeflow.sanitizing.grammar import parse_or_none

#: Names that every module has without binding them.
ALWAYS_BOUND = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__", "__annotations__"}

_LINE_END = re.compile(r"\r\n?|\n")
_COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


@dataclass
class _Names:
    """Module-level names of one statement, by what happens to them."""

    binds: set[str]
    now: set[str]  # read when the statement is executed
    later: set[str]  # read or bound when a function that it defines is called


@dataclass(frozen=True)
class Statement:
    """One top-level statement and its source text."""

    node: ast.stmt
    text: str

    @cached_property
    def _names(self) -> _Names:
        try:
            with untrusted_text.parser():
                table = symtable.symtable(self.text, "<statement>", "exec")
        except untrusted_text.REFUSALS:
            every = {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)}
            return _Names(every, every, every)
        return _names_in(table)

    @property
    def binds(self) -> set[str]:
        """Module-level names that executing it binds."""
        return self._names.binds

    @property
    def now(self) -> set[str]:
        """Module-level names that executing it reads."""
        return self._names.now

    @property
    def needs(self) -> set[str]:
        """Module-level names that it, or a function that it defines, reads."""
        return self._names.now | self._names.later

    @cached_property
    def mentions(self) -> set[str]:
        """Every identifier in it, parameters, attributes and keywords included."""
        return set(_identifiers(self.node))

    @cached_property
    def touches(self) -> set[str]:
        """Names whose objects executing it may change."""
        return set(_touched(self.node))

    @property
    def is_import(self) -> bool:
        """Is an import statement."""
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @cached_property
    def has_import(self) -> bool:
        """Is a compound statement that imports, such as a try with a fallback."""
        return isinstance(self.node, _COMPOUND) and any(
            isinstance(node, ast.Import | ast.ImportFrom) for node in immediate(self.node)
        )

    @property
    def is_future(self) -> bool:
        """Is an import from __future__, which must stand first."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    @property
    def is_function_or_class(self) -> bool:
        """Defines a function or a class."""
        return isinstance(self.node, (*_FUNCTIONS, ast.ClassDef))

    @property
    def decorators(self) -> list[ast.expr]:
        """What it is decorated with, outermost first."""
        return getattr(self.node, "decorator_list", [])

    @property
    def is_definition(self) -> bool:
        """Is a function, a class, or an assignment to one name."""
        if isinstance(self.node, ast.Assign):
            return isinstance(self.node.targets[0], ast.Name)
        if isinstance(self.node, ast.AnnAssign):
            return isinstance(self.node.target, ast.Name)
        return self.is_function_or_class

    @property
    def is_main_guard(self) -> bool:
        """Is an ``if __name__ == "__main__":`` block."""
        if not (isinstance(self.node, ast.If) and isinstance(self.node.test, ast.Compare)):
            return False
        words = {getattr(node, "id", getattr(node, "value", None)) for node in ast.walk(self.node.test)}
        return isinstance(self.node.test.ops[0], ast.Eq) and {"__name__", "__main__"} <= words

    @cached_property
    def is_calculated(self) -> bool:
        """Calls something when it is executed."""
        return any(isinstance(node, ast.Call | ast.Await) for node in immediate(self.node))

    @property
    def is_literal(self) -> bool:
        """Assigns a constant."""
        value = getattr(self.node, "value", None)
        return self.is_definition and isinstance(value, ast.Constant)


def statements_of(program: str) -> list[Statement] | None:
    """The top-level statements of a text, None where it is not a program."""
    tree = parse_or_none(program)
    if tree is None:
        return None
    lines = [line.encode() for line in _LINE_END.split(program)]
    # What a model writes a thousand times is looked at once.
    known: dict[str, Statement] = {}
    return [known.setdefault(text, Statement(node, text)) for node in tree.body for text in (_source(lines, node),)]


def immediate(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are evaluated when a statement is executed: not the bodies of functions."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, _FUNCTIONS):
            waiting += [*current.decorator_list, *current.args.defaults]
            waiting += [default for default in current.args.kw_defaults if default]
        elif not isinstance(current, ast.Lambda):
            waiting += ast.iter_child_nodes(current)


def root_name(node: ast.expr) -> str:
    """The name that a chain of attributes, subscripts and calls starts from; empty: it starts from no name."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _source(lines: list[bytes], node: ast.stmt) -> str:
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    begin = node.col_offset if first == node.lineno else 0
    last = node.end_lineno or first
    picked = lines[first - 1 : last]
    picked[-1] = picked[-1][: node.end_col_offset]
    picked[0] = picked[0][begin:]
    return b"\n".join(picked).decode()


def _names_in(module: symtable.SymbolTable) -> _Names:
    names = _Names(set(), set(), set())
    waiting = [(module, False)]  # a loop, because tables nest deeper than Python recurses
    while waiting:
        table, deferred = waiting.pop()
        _collect(table, names, deferred=deferred)
        for child in table.get_children():
            called = child.get_type() == "function" and child.get_name() not in _COMPREHENSIONS
            waiting.append((child, deferred or called))
    return names


def _collect(table: symtable.SymbolTable, names: _Names, *, deferred: bool) -> None:
    module = table.get_type() == "module"
    for symbol in table.get_symbols():
        name = symbol.get_name()
        if not module and not symbol.is_global():
            continue
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_declared_global():
            (names.later if deferred else names.binds).add(name)
        if symbol.is_referenced():
            (names.later if deferred else names.now).add(name)


def _identifiers(node: ast.AST) -> Iterator[str]:
    for item in ast.walk(node):
        for field in ("id", "arg", "attr", "name", "asname", "module", "rest"):
            value = getattr(item, field, None)
            if isinstance(value, str):
                yield from value.split(".")
        if isinstance(item, ast.Global | ast.Nonlocal):
            yield from item.names


def _touched(node: ast.stmt) -> Iterator[str]:
    for item in immediate(node):
        if isinstance(item, ast.Attribute | ast.Subscript) and not isinstance(item.ctx, ast.Load):
            yield root_name(item)
        elif isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
            yield item.id
        elif isinstance(item, ast.Call):
            if isinstance(item.func, ast.Attribute):
                yield root_name(item.func)
            if root_name(item.func) not in ALWAYS_BOUND - {"setattr", "delattr", "vars"}:
                yield from (argument.id for argument in item.args if isinstance(argument, ast.Name))
