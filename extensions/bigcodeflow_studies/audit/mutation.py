"""Mutants of a reference solution: each has one change, which compiles and changes the meaning.

Changes are made in the text, so that lines keep their numbers. Equal solutions, limits and seeds give equal mutants.
Two programs mean the same if their bytecode is equal after constants are folded and docstrings are removed.
"""

import ast
import hashlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.core.source_text import UnsafeError, called_name, edited
from bigcodeflow.sanitizing.statements import root_name
from bigcodeflow_studies.audit.operators import Program, changes_of

_LOG_OBJECTS = frozenset({"logging", "logger", "log", "warnings"})
_PLOT_CALLS = frozenset(
    """set_title set_xlabel set_ylabel set_zlabel title xlabel ylabel suptitle legend grid tight_layout figure show
    xticks yticks tick_params set_xticks set_yticks set_xticklabels set_yticklabels set_xlim set_ylim xlim ylim
    axis annotate colorbar subplots_adjust set_style set_theme set rcParams axhline axvline text
    """.split()  # noqa: SIM905 -- as a list it takes a screen
)
_PLOT_OWNERS = re.compile(r"plt|pyplot|sns|seaborn|matplotlib|ax(es|s)?\d*|fig(ure)?\d*")
_DRAWS = re.compile(
    r"\w*plot\w*|hist\w*|barh?|scatter|pie|heatmap|imshow|matshow|fill_between|contourf?|errorbar|savefig"
)
_PLOT_KEYWORDS = frozenset(
    """color colors cmap alpha figsize linewidth linestyle marker edgecolor facecolor fontsize rotation label
    interpolation palette lw ls ha va rwidth autopct startangle markersize annot fmt dpi cbar title
    xlabel ylabel legend grid rot""".split()  # noqa: SIM905 -- as above
)
_SEED_CALLS = frozenset({"seed", "default_rng", "RandomState", "manual_seed", "set_seed"})
_CLEANUP_CALLS = frozenset({"close", "flush", "terminate", "shutdown", "clf", "cla", "disconnect"})
_NEUTRAL_KEYWORDS = frozenset({"random_state", "seed", "timeout", "encoding", "newline", "verbose", "n_jobs", "flush"})


class Mutant(NamedTuple):
    """Program that differs from the reference solution in a single change."""

    line: int
    """1-based line of the change in the reference solution."""
    operator: str
    """Kind of change, such as 'return value'; see the module `operators`."""
    before: str
    after: str
    apart: bool
    """True if tests need not observe the change."""
    program: str
    statement: tuple[int, int]
    """First and last line of the changed statement, or of the head if the statement is compound."""

    @property
    def statement_text(self) -> str:
        """Text of the statement with the change."""
        first, last = self.statement
        return "\n".join(self.program.split("\n")[first - 1 : last])


class Mutants(NamedTuple):
    """Chosen mutants of a program, with the numbers of possible mutants and of equivalent changes."""

    chosen: tuple[Mutant, ...]
    equivalent: int
    """Number of changes left out because they mean the same as the program or as another change."""
    possible: int
    """Number of mutants from which the ``chosen`` mutants were drawn."""


NONE = Mutants((), 0, 0)
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@untrusted_text.with_fallback(lambda *_, **__: NONE)
def mutants_of(program: str, first_line: int, entry_point: str, *, most: int, seed: int) -> Mutants:
    """Return up to ``most`` mutants of a program, with all mutation operators represented as evenly as possible.

    Changes are made in the solution, which begins in line ``first_line`` (1-based), and in the default arguments of
    the entry point. The ``seed`` decides which mutants are chosen.
    """
    try:
        text = Program(program)
    except UnsafeError:
        return NONE
    apart = {id(part) for node in ast.walk(text.tree) for root in _roots(node) for part in ast.walk(root)}
    statements = _statements(text.tree)
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
    """Choose up to `most` mutants, each operator in turn; ``apart`` mutants only fill up; sort the choice by line."""
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
    """Return a code object that is equal for programs of the same meaning; None if the program does not compile."""
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
    """Return the code object without line numbers, for comparison; the constants 1 and 1.0 remain different."""
    constants = tuple(_without_places(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_firstlineno=1, co_linetable=b"")


def _roots(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the subtrees of a node that tests need not observe, such as log messages, plot titles and seeds."""
    match node:
        case ast.Expr(value=ast.Call() as call) if _is_unobserved(call):
            yield node
        case ast.Raise(exc=ast.Call(args=arguments, keywords=keywords)):
            yield from (*arguments, *keywords)
        case ast.Call(keywords=keywords):
            name, owner = called_name(node), _owner(node.func)
            if name in _SEED_CALLS or name == "print" or owner in _LOG_OBJECTS:
                yield node
            is_of_plots = name in _PLOT_CALLS or _DRAWS.fullmatch(name) or _PLOT_OWNERS.fullmatch(owner)
            unobserved = _NEUTRAL_KEYWORDS | (_PLOT_KEYWORDS if is_of_plots else frozenset())
            yield from (keyword for keyword in keywords if keyword.arg in unobserved)


def _is_unobserved(call: ast.Call) -> bool:
    """Tell if tests need not observe a statement that consists of this call, such as a call of print."""
    name, owner = called_name(call), _owner(call.func)
    is_of_plots = name in _PLOT_CALLS and bool(_PLOT_OWNERS.fullmatch(owner) or name.startswith("set_"))
    return name == "print" or owner in _LOG_OBJECTS or name in _CLEANUP_CALLS | _SEED_CALLS or is_of_plots


def _owner(function: ast.expr) -> str:
    """Return the first name of a dotted expression: 'plt' of plt.figure, 'ax' of ax[0].set_title; '' without a dot."""
    return "" if isinstance(function, ast.Name) else root_name(function)
