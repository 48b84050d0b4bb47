"""Top-level statements of a program, with the names that a statement binds, needs and may change; and missing code."""

import ast
import builtins
import re
import symtable
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from bigcodeflow.core import untrusted_text
from bigcodeflow.sanitizing.grammar import parse_or_none

#: Names that every module has without binding them.
ALWAYS_BOUND = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__", "__annotations__"}

_LINE_END = re.compile(r"\r\n?|\n")
_COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
_YOUR_CODE = re.compile(
    r"(?:your|rest of the|actual) (?:code|implementation|logic)|to ?do\b|implement (?:this|here|me)", re.IGNORECASE
)

#: Lines of an answer that bind names for the whole program; the groups hold these names.
_BINDING = re.compile(
    r"^(?:(?:from [\w.]+ )?import (.+)|(?:async )?(?:def|class) (\w+)|(\w+)(?: ?: ?[^=\n]+)? ?= )", re.MULTILINE
)
_NAME = re.compile(r"\w+")
#: Possible start of an end mark, a tag or a fence that is glued to a line, and the number of such places checked.
_GLUED = re.compile(r"[`<\[~◁\uff5c]")
_MOST_GLUED = 20


@dataclass(frozen=True)
class Statement:
    """Top-level statement of a program, with its source text and the module-level names that it binds and reads."""

    node: ast.stmt
    text: str
    binds: set[str]
    reads: set[str]
    needs: set[str]  # `reads`, and names that functions in the statement bind or read

    @cached_property
    def mentions(self) -> set[str]:
        """All identifiers in the statement, including names of parameters, attributes, keywords and modules."""
        found: set[str] = set()
        for item in ast.walk(self.node):
            for field in ("id", "arg", "attr", "name", "asname", "module", "rest"):
                value = getattr(item, field, None)
                if isinstance(value, str):
                    found.update(value.split("."))
            if isinstance(item, ast.Global | ast.Nonlocal):
                found.update(item.names)
        return found

    @cached_property
    def touches(self) -> set[str]:
        """Names of the objects that executing the statement may change."""
        found: set[str] = set()
        for item in immediate(self.node):
            match item:
                case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                    found.add(root_name(item))
                case ast.Name(ctx=ast.Store() | ast.Del()):
                    found.add(item.id)
                case ast.Call(func=called):
                    if isinstance(called, ast.Attribute):
                        found.add(root_name(called))
                    if root_name(called) not in ALWAYS_BOUND - {"setattr", "delattr", "vars"}:
                        found.update(argument.id for argument in item.args if isinstance(argument, ast.Name))
        return found

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def has_star_import(self) -> bool:
        return self.is_import and "*" in self.mentions

    @cached_property
    def has_import(self) -> bool:
        """True for a compound statement that imports, such as a try with a fallback."""
        return isinstance(self.node, _COMPOUND) and any(
            isinstance(node, ast.Import | ast.ImportFrom) for node in immediate(self.node)
        )

    @property
    def is_function_or_class(self) -> bool:
        return isinstance(self.node, (*FUNCTIONS, ast.ClassDef))

    @property
    def decorators(self) -> list[ast.expr]:
        return getattr(self.node, "decorator_list", [])

    @property
    def is_definition(self) -> bool:
        """True for a function, a class, or an assignment whose first target is a plain name."""
        match self.node:
            case ast.Assign(targets=[ast.Name(), *_]) | ast.AnnAssign(target=ast.Name()):
                return True
        return self.is_function_or_class

    @property
    def is_main_guard(self) -> bool:
        """True for an ``if __name__ == "__main__":`` block."""
        if not (isinstance(self.node, ast.If) and isinstance(self.node.test, ast.Compare)):
            return False
        words = {getattr(node, "id", getattr(node, "value", None)) for node in ast.walk(self.node.test)}
        return isinstance(self.node.test.ops[0], ast.Eq) and {"__name__", "__main__"} <= words

    @cached_property
    def is_calculated(self) -> bool:
        """True if executing the statement calls a function or awaits a result."""
        return any(isinstance(node, ast.Call | ast.Await) for node in immediate(self.node))


@lru_cache(maxsize=2)  # a solution and its prompt, which several flags read
def statements_of(program: str) -> Sequence[Statement] | None:
    """Return the top-level statements of ``program``; None if the text is not a program."""
    tree = parse_or_none(program)
    if tree is None:
        return None
    lines = [line.encode() for line in _LINE_END.split(program)]
    # Equal statements share one object: a model may write a statement a thousand times.
    known: dict[str, Statement] = {}
    found = []
    for node in tree.body:
        text = _source(lines, node)
        if text not in known:
            known[text] = Statement(node, text, *_names(text, node))
        found.append(known[text])
    return tuple(found)


def _names(text: str, node: ast.stmt) -> tuple[set[str], set[str], set[str]]:
    """Return three sets: the module-level names that a statement binds, reads, and needs; see `Statement`."""
    try:
        with untrusted_text.parser():
            module = symtable.symtable(text, "<statement>", "exec")
    except untrusted_text.REFUSALS:
        every = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
        return every, every, every
    binds: set[str] = set()
    reads: set[str] = set()
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
                (later if deferred else reads).add(symbol.get_name())
        for child in table.get_children():
            called = child.get_type() == "function" and child.get_name() not in _COMPREHENSIONS
            waiting.append((child, deferred or called))
    return binds, reads, reads | later


def reachable(names: Iterable[str], step: Callable[[str], Iterable[str]]) -> set[str]:
    """Return ``names`` and all names that repeated calls of ``step`` reach from ``names``."""
    reached = set(names)
    waiting = list(reached)
    while waiting:
        new = set(step(waiting.pop())) - reached
        reached |= new
        waiting += new
    return reached


def immediate(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the syntax nodes that Python evaluates when it executes ``node``; bodies of functions are left out."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if isinstance(current, FUNCTIONS):
            waiting += [*current.decorator_list, *current.args.defaults]
            waiting += [default for default in current.args.kw_defaults if default]
        elif not isinstance(current, ast.Lambda):
            waiting += ast.iter_child_nodes(current)


def root_name(node: ast.expr) -> str:
    """Return the name that starts a chain of attributes, subscripts and calls; empty if no name starts the chain."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


@untrusted_text.with_fallback(lambda *_: False)
def omitted_setup(solution: str, code_prompt: str, entry_point: str) -> bool:
    """Tell if a solution needs imports or constants of ``code_prompt`` that the solution does not contain itself.

    Such a solution works only if it is calibrated. The result is False if the solution is not a program.
    """
    statements = statements_of(solution)
    prompt = statements_of(code_prompt + "\n    pass\n") or statements_of(code_prompt)
    if statements is None or prompt is None or any(item.has_star_import for item in statements):
        return False
    given = {name for item in prompt for name in item.binds} - {entry_point}
    stated = {name for item in statements for name in item.binds}
    return bool({name for item in statements for name in item.needs} & given - stated)


@untrusted_text.with_fallback(lambda *_: False)
def shortened(answer: str, solution: str, entry_point: str) -> bool:
    """Tell if the answer contains code that the entry point needs and that the solution lacks.

    The result is True in two cases: each version of the entry point's function in the answer has a line that the
    solution lacks; or the solution needs a name that a line of the answer binds, but that the solution does not bind.
    """
    kept = {line.strip() for line in solution.split("\n")}
    bodies = list(_bodies(answer, entry_point))
    if bodies and all(any(not _is_kept(line, kept) for line in body) for body in bodies):
        return True
    statements = statements_of(solution) or []
    if any(item.has_star_import for item in statements):
        return False
    needed = {name for item in statements for name in item.needs} - ALWAYS_BOUND
    lacking = needed - {name for item in statements for name in item.binds}
    stated = (name for groups in _BINDING.findall(answer) for name in _NAME.findall(" ".join(groups)))
    return not lacking.isdisjoint(stated)


def _bodies(answer: str, entry_point: str) -> Iterator[list[str]]:
    """Yield the lines of each function named ``entry_point`` in an answer, without header, comments and blank lines."""
    header = re.compile(rf"([ \t]*)(?:async[ ]+)?def[ ]+{re.escape(entry_point)}\b")
    body: list[str] | None = None
    indent = 0
    for line in answer.split("\n"):
        text = line.strip()
        if body is not None and text and len(line) - len(line.lstrip()) <= indent and text[0] not in ")]}":
            yield body
            body = None
        if body is not None and text and text[0] not in "#)]}":
            body.append(text)
        elif body is None and (found := header.match(line)):
            body, indent = [], len(found[1])
    if body is not None:
        yield body


def _is_kept(line: str, kept: set[str]) -> bool:
    """Tell if ``line`` is among the solution's lines ``kept``; a mark or fence at the end of ``line`` is ignored."""
    ends = (found.start() for found in islice(_GLUED.finditer(line), _MOST_GLUED))
    return line in kept or any(line[:end].rstrip() in kept for end in ends)


@untrusted_text.with_fallback(lambda *_: "")
def missing_program(solution: str, entry_point: str) -> str:
    """Return a message if a compilable solution has no code or no entry point; return an empty text otherwise."""
    statements = statements_of(solution)
    if statements is None or any(item.has_star_import or entry_point in item.binds for item in statements):
        return ""
    is_empty = all(_does_nothing(item.node, promised=False) for item in statements)
    return "holds no code" if is_empty else f"does not define {entry_point}"


@untrusted_text.with_fallback(lambda *_: False)
def placeholder(solution: str, entry_point: str) -> bool:
    """Tell if the entry point's body does no work, such as ``pass``; False if there is no entry point or no program."""
    statements = statements_of(solution)
    return statements is not None and is_placeholder(statements, entry_point)


def is_placeholder(statements: Sequence[Statement], entry_point: str) -> bool:
    """Tell if the last statement that binds the entry point is a function that does no work, such as ``pass``."""
    binding = [item for item in statements if entry_point in item.binds]
    if not binding:
        return False
    node = binding[-1].node
    comments = (line.partition("#")[2] for line in binding[-1].text.split("\n"))
    promised = any(_YOUR_CODE.search(comment) for comment in comments if comment)
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return all(_does_nothing(statement, promised=promised) for statement in node.body)
        case ast.Assign(value=ast.Lambda(body=ast.Constant(value=value))):
            return value in {None, ...}
    return False


def ends_with_result(node: ast.stmt) -> bool:
    """Tell if the last statement inside ``node`` returns a value or raises an exception."""
    is_passed = isinstance(node, (ast.If, ast.ClassDef, *FUNCTIONS))
    block = getattr(node, "orelse", []) or ([] if is_passed else getattr(node, "body", []))
    if block:
        return ends_with_result(block[-1])
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Return) and node.value is not None)


def with_quoted_annotations(program: str) -> str:
    """Return the program with annotations as strings, to replace ``from __future__ import annotations``.

    This import must be the first statement of a program, but calibration puts code_prompt first.
    """
    tree = parse_or_none(program)
    nodes = list(ast.walk(tree)) if tree else []
    found = [getattr(node, name) for node in nodes for name in ("annotation", "returns") if getattr(node, name, None)]
    lines = [line.encode() for line in program.split("\n")]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first, last = node.lineno - 1, node.end_lineno
        quoted = lines[first][: node.col_offset] + repr(ast.unparse(node)).encode()
        lines[first:last] = [quoted + lines[last - 1][node.end_col_offset :]]
    return b"\n".join(lines).decode()


def _does_nothing(node: ast.stmt, *, promised: bool) -> bool:
    match node:
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == "NotImplementedError"
        case ast.Return(value=ast.Constant(value=value)):
            return promised or value is None
        case ast.Pass() | ast.Expr(value=ast.Constant()) | ast.Return(value=None):
            return True
    return False


def _source(lines: list[bytes], node: ast.stmt) -> str:
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    picked = lines[first - 1 : node.end_lineno or first]
    picked[-1] = picked[-1][: node.end_col_offset]
    picked[0] = picked[0][node.col_offset if first == node.lineno else 0 :]
    return b"\n".join(picked).decode()
