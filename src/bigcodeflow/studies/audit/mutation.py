"""Mutants of a reference solution: each has one change, which compiles and changes the meaning.

Changes are made in the text, so that lines keep their numbers. Equal solutions, limits and seeds give equal mutants.
Two programs mean the same if their bytecode is equal after constants are folded and docstrings are removed.
"""

import ast
import hashlib
import random
from collections import defaultdict
from collections.abc import Sequence
from types import CodeType
from typing import NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.core.source_text import UnsafeError, edited
from bigcodeflow.studies.audit.operators import Program, changes_of
from bigcodeflow.studies.audit.unobserved import unobserved_nodes


class Mutant(NamedTuple):
    """One changed program."""

    line: int
    """1-based line of the reference program."""
    operator: str
    """Kind of change, see `operators`."""
    before: str
    after: str
    apart: bool
    """True if tests are not expected to observe the change."""
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
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


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
    try:
        text = Program(program)
    except UnsafeError:
        return NONE
    apart, statements = unobserved_nodes(text.tree), _statements(text.tree)
    known, equivalent, found = {_meaning(program)}, 0, []
    changes = changes_of(text, first_line, entry_point)
    for change in sorted(changes, key=lambda one: (one.edit.start, one.edit.end, one.operator, one.edit.text)):
        mutated = edited(program, [text.keeping_lines(change.edit)])
        meaning = _meaning(mutated)
        if meaning is None:
            continue
        if meaning in known:
            equivalent += 1
            continue
        known.add(meaning)
        own = max((one for one in statements if one[0] <= change.line <= one[1]), default=(change.line, change.line))
        given = change.line, change.operator, change.before, change.edit.text, id(change.node) in apart
        found.append(Mutant(*given, mutated, own))
    return Mutants(tuple(_spread(found, most, f"{seed} {program}")), equivalent, len(found))


def _spread(found: Sequence[Mutant], most: int, seed: str) -> list[Mutant]:
    """Choose up to `most` mutants, each operator in turn, observable ones first; return them in the order of lines."""
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    order = random.Random(digest)  # noqa: S311 -- repeatable, no secret
    groups: dict[tuple[bool, str], list[Mutant]] = defaultdict(list)
    for one in found:
        groups[one.apart, one.operator].append(one)
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


def _meaning(program: str) -> CodeType | None:
    """Return a value that is equal for programs of equal bytecode; None if the text does not compile."""
    try:
        tree = untrusted_text.parse(program)
        for node in ast.walk(tree):
            if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
                node.body[0] = ast.copy_location(ast.Pass(), node.body[0])
        with untrusted_text.parser():
            return _without_places(compile(tree, "<program>", "exec", dont_inherit=True))
    except untrusted_text.REFUSALS:
        return None


def _without_places(code: CodeType) -> CodeType:
    """Return a code object that says nothing of lines; comparing two tells 1, 1.0 and True apart, or 0.0 and -0.0."""
    constants = tuple(_without_places(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_firstlineno=1, co_linetable=b"")
