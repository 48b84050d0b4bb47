"""Mutants of a reference solution: each has one change, which compiles and changes the meaning.

Changes are made in the text, so that lines keep their numbers. Equal solutions, limits and seeds give equal mutants.
Two programs mean the same if their bytecode is equal after constants are folded and docstrings are removed.
"""

import ast
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.studies.audit.operators import Change, changes_of
from bigcodeflow.studies.audit.unobserved import reason_apart


class Mutant(NamedTuple):
    """One changed program."""

    line: int
    """1-based line of the reference program."""
    operator: str
    """Kind of change, see `operators`."""
    before: str
    after: str
    apart: str
    """Reason why tests are not expected to observe the change, such as 'plot appearance'; empty if they are."""
    program: str
    statement: tuple[int, int]
    """First and last line of the changed statement; for a compound statement, of its head."""

    @property
    def statement_text(self) -> str:
        """Text of the statement with the change."""
        first, last = self.statement
        return "\n".join(self.program.split("\n")[first - 1 : last])


class Mutants(NamedTuple):
    """Mutants of a program, with counts."""

    chosen: tuple[Mutant, ...]
    equivalent: int
    """Number of changes left out because they mean the same as the program or as another change."""
    possible: int
    """Number of mutants from which the chosen ones were drawn."""


NONE = Mutants((), 0, 0)


@untrusted_text.with_fallback(lambda *_, **__: NONE)
def mutants_of(program: str, first_line: int, entry_point: str, *, most: int, seed: int) -> Mutants:
    """Return up to `most` mutants of a program's solution and its entry point's defaults, spread over operators.

    Args:
        program: the whole reference program, prompt and solution.
        first_line: 1-based number of the line where the solution begins.
        entry_point: the function under test.
        most: maximum number of mutants.
        seed: decides which mutants are chosen.
    """
    tree = _tree(program)
    if tree is None:
        return NONE
    apart, statements = reason_apart(tree), _statements(tree)
    known, equivalent, found = {_meaning(program)}, 0, []
    for change in _ordered(changes_of(tree, program, first_line, entry_point)):
        mutated = change.applied(program)
        meaning = _meaning(mutated)
        if meaning is None:
            continue
        if meaning in known:
            equivalent += 1
            continue
        known.add(meaning)
        own = max((one for one in statements if one[0] <= change.line <= one[1]), default=(change.line, change.line))
        reason = apart(change.node)
        found.append(Mutant(change.line, change.operator, change.before, change.after, reason, mutated, own))
    return Mutants(tuple(_spread(found, most, f"{seed} {program}")), equivalent, len(found))


def _ordered(changes: Iterator[Change]) -> list[Change]:
    return sorted(changes, key=lambda one: (one.start, one.end, one.operator, one.after))


def _spread(found: Sequence[Mutant], most: int, seed: str) -> list[Mutant]:
    """Choose up to `most` mutants, each operator in turn, observable ones first; return them in the order of lines."""
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    order = random.Random(digest)  # noqa: S311 -- repeatable, no secret
    groups: dict[tuple[bool, str], list[Mutant]] = defaultdict(list)
    for one in found:
        groups[bool(one.apart), one.operator].append(one)
    for group in groups.values():
        order.shuffle(group)
    chosen: list[Mutant] = []
    for is_apart in (False, True):
        queues = [group for (apart, _), group in sorted(groups.items()) if apart is is_apart]
        while len(chosen) < most and any(queues):
            chosen += [queue.pop() for queue in queues if queue][: most - len(chosen)]
    return sorted(chosen, key=lambda one: (one.line, one.operator, one.before, one.after))


def _statements(tree: ast.Module) -> list[tuple[int, int]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
            found.append((node.lineno, last or node.lineno))
    return found


def _tree(text: str) -> ast.Module | None:
    try:
        return untrusted_text.parse(text)
    except untrusted_text.REFUSALS:
        return None


def _meaning(program: str) -> Any:
    """Return a value that is equal for programs of equal bytecode; None if the text does not compile."""
    tree = _tree(program)
    if tree is None:
        return None
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and body:
            match body[0]:
                case ast.Expr(value=ast.Constant(value=str())):
                    body[0] = ast.copy_location(ast.Pass(), body[0])
    try:
        with untrusted_text.parser():
            return _code(compile(tree, "<program>", "exec", dont_inherit=True))
    except untrusted_text.REFUSALS:
        return None


def _code(code: CodeType) -> tuple[Any, ...]:
    """Return the content of a code object without its positions in the text."""
    constants = tuple(_code(one) if isinstance(one, CodeType) else _constant(one) for one in code.co_consts)
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, constants, arguments, names, getattr(code, "co_exceptiontable", b""))


def _constant(value: object) -> object:
    """Return a key that separates constants which compare equal: 1, 1.0 and True, or 0.0 and -0.0."""
    if isinstance(value, tuple):
        return "tuple", tuple(map(_constant, value))
    if isinstance(value, frozenset):
        return "frozenset", tuple(sorted(map(repr, value)))
    return type(value).__name__, repr(value)
