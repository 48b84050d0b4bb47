"""Top-level statements of a program: what each binds, needs and may change, and what an answer left to others."""

import ast
import builtins
import re
import symtable
from collections.abc import Callable, Iterable, Iterator, Sequence
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
_YOUR_CODE = re.compile(
    r"(?:your|rest of the|actual) (?:code|implementation|logic)|to ?do\b|implement (?:this|here|me)", re.IGNORECASE
)


@dataclass(frozen=True)
class Statement:
    """One top-level statement and its source text."""

    node: ast.stmt
    text: str

    @cached_property
    def _names(self) -> tuple[set[str], set[str], set[str]]:
        """Module-level names that it binds, that it reads, and that a function which it defines binds or reads."""
        try:
            with untrusted_text.parser():
                module = symtable.symtable(self.text, "<statement>", "exec")
        except untrusted_text.REFUSALS:
            every = {node.id for node in ast.walk(self.node) if isinstance(node, ast.Name)}
            return every, every, every
        binds: set[str] = set()
        now: set[str] = set()
        later: set[str] = set()
        waiting = [(module, False)]  # a loop, because tables nest deeper than Python recurses
        while waiting:
            table, deferred = waiting.pop()
            for symbol in table.get_symbols():
                if table.get_type() != "module" and not symbol.is_global():
                    continue
                if symbol.is_assigned() or symbol.is_imported() or symbol.is_declared_global():
                    (later if deferred else binds).add(symbol.get_name())
                if symbol.is_referenced():
                    (later if deferred else now).add(symbol.get_name())
            for child in table.get_children():
                called = child.get_type() == "function" and child.get_name() not in _COMPREHENSIONS
                waiting.append((child, deferred or called))
        return binds, now, later

    @property
    def binds(self) -> set[str]:
        """Module-level names that executing it binds."""
        return self._names[0]

    @property
    def now(self) -> set[str]:
        """Module-level names that executing it reads."""
        return self._names[1]

    @property
    def needs(self) -> set[str]:
        """Module-level names that it, or a function that it defines, reads."""
        return self._names[1] | self._names[2]

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

    @property
    def has_star_import(self) -> bool:
        """Is an import of every name of a module."""
        return self.is_import and "*" in self.mentions

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
        """Decorators, outermost first."""
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
        return self.is_definition and isinstance(getattr(self.node, "value", None), ast.Constant)


def statements_of(program: str) -> list[Statement] | None:
    """The top-level statements of a text, None where it is not a program."""
    tree = parse_or_none(program)
    if tree is None:
        return None
    lines = [line.encode() for line in _LINE_END.split(program)]
    # Equal statements share one object: a model may write a statement a thousand times.
    known: dict[str, Statement] = {}
    return [known.setdefault(text, Statement(node, text)) for node in tree.body for text in (_source(lines, node),)]


def reachable(names: Iterable[str], step: Callable[[str], Iterable[str]]) -> set[str]:
    """The names, and all that one step after the other leads to from them."""
    reached = set(names)
    waiting = list(reached)
    while waiting:
        new = set(step(waiting.pop())) - reached
        reached |= new
        waiting += new
    return reached


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


@untrusted_text.fails_alone(lambda *_: False)
def omitted_setup(solution: str, code_prompt: str, entry_point: str) -> bool:
    """Whether a solution uses imports or constants of its prompt that it does not state itself.

    Such a solution works only calibrated. A solution that is no program omits nothing.
    """
    statements = statements_of(solution)
    prompt = statements_of(code_prompt + "\n    pass\n") or statements_of(code_prompt)
    if statements is None or prompt is None or any(item.has_star_import for item in statements):
        return False
    given = {name for item in prompt for name in item.binds} - {entry_point}
    stated = {name for item in statements for name in item.binds}
    return bool({name for item in statements for name in item.needs} & given - stated)


@untrusted_text.fails_alone(lambda *_: False)
def placeholder(solution: str, entry_point: str) -> bool:
    """Whether the entry point is defined but its body does no work.

    False where the entry point is missing or the solution is no program: other columns say so.
    """
    statements = statements_of(solution)
    return statements is not None and is_placeholder(statements, entry_point)


def is_placeholder(statements: Sequence[Statement], entry_point: str) -> bool:
    """Whether the statement that finally binds the entry point is a function without work in it."""
    binding = [item for item in statements if entry_point in item.binds]
    if not binding:
        return False
    node = binding[-1].node
    comments = (line.partition("#")[2] for line in binding[-1].text.split("\n"))
    promised = any(_YOUR_CODE.search(comment) for comment in comments if comment)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return all(_does_nothing(statement, promised=promised) for statement in node.body)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        return isinstance(node.value.body, ast.Constant) and node.value.body.value in {None, ...}
    return False


def _does_nothing(node: ast.stmt, *, promised: bool) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    if isinstance(node, ast.Return):
        return node.value is None or (isinstance(node.value, ast.Constant) and (promised or node.value.value is None))
    return isinstance(node, ast.Pass)


def _source(lines: list[bytes], node: ast.stmt) -> str:
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    picked = lines[first - 1 : node.end_lineno or first]
    picked[-1] = picked[-1][: node.end_col_offset]
    picked[0] = picked[0][node.col_offset if first == node.lineno else 0 :]
    return b"\n".join(picked).decode()


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
