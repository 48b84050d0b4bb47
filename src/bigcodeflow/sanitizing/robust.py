"""Robust mode: extract the program of an answer, including code that the original's method loses.

The answer without its thoughts is split at its fences, tags and special tokens. The last passage that defines the entry
point is the program; missing parts come from the other passages. All imports are kept, and all statements that bind or
change an object that the entry point uses. Demonstrations, such as calls, prints and asserts, are left out.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from bigcodeflow.sanitizing.parity import LineRange, longest_program_range, parity_solution
from bigcodeflow.sanitizing.passages import (
    dedented,
    ends_within_fence,
    fenced_texts,
    is_escaped,
    marked_texts,
    readings,
    without_notebook_lines,
    without_thinking,
)
from bigcodeflow.sanitizing.statements import (
    ALWAYS_BOUND,
    FUNCTIONS,
    Statement,
    ends_with_result,
    is_placeholder,
    reachable,
    root_name,
    statements_of,
    with_quoted_annotations,
)

_MAX_ROUNDS = 8
#: Calls that end, show or test a program; as statements they prepare nothing.
_SHOWS = frozenset(
    {"print", "pprint", "pp", "show", "display", "main", "testmod", "run_docstring_examples"}
    | {"exit", "quit", "_exit", "input", "breakpoint", "sleep"}
)


class _Passage(NamedTuple):
    statements: Sequence[Statement]
    whole: bool  # the whole passage is a program

    def defines(self, entry_point: str) -> bool:
        definitions = (item for item in self.statements if not item.is_import and not item.is_main_guard)
        return any(entry_point in item.binds for item in definitions)

    def stops_within(self, entry_point: str) -> bool:
        """Tell if this part of an answer seems cut off: it ends in the entry point's function, without a result."""
        functions = [item.node for item in self.statements[-1:] if isinstance(item.node, FUNCTIONS)]
        return any(node.name == entry_point and not ends_with_result(node.body[-1]) for node in functions)


def robust_solution(text: str, entry_point: str) -> str:
    """Return the program that defines ``entry_point`` in an answer, or parity mode's result if no program does."""
    # Newlines are the only line ends of the result; NUL bytes and a byte order mark may occur in no program.
    readable = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    try:
        solution = _once(readable, entry_point)
        for _ in range(_MAX_ROUNDS):  # sanitizing a solution again must not change it
            again = _once(solution, entry_point)
            if again == solution:
                break
            solution = again
        return solution
    finally:  # trees of long answers take hundreds of MiB
        _passage.cache_clear()
        _longest.cache_clear()


def _once(given: str, entry_point: str) -> str:
    texts: list[tuple[str, str]] = []  # each way to read the answer, with and without its thoughts
    longest = 0
    for text in readings(dedented(given), entry_point):
        answer = dedented(without_thinking(text))
        views = [[_passage(text)], [_passage(answer)], *_split(answer, entry_point)]
        for found in views:
            whole = [passage for passage in found if passage.whole and passage.defines(entry_point)]
            # Text after an end mark, or inside a string of the program, may be another program.
            if whole and _definition_length(whole, entry_point) >= longest:
                return _assembled(found, entry_point)
        longest = max(longest, *(_definition_length(found, entry_point) for found in (*views, _unfenced(answer))))
        texts.append((text, answer))
    for found in _torn(texts, entry_point):
        if solution := _assembled(found, entry_point):
            return solution
    # The original strips the answer, which can turn a text with an invalid layout into a program.
    fallbacks = [parity_solution(source, entry_point) for source in dict.fromkeys((*texts[0][::-1], given))]
    defining = [fallback for fallback in fallbacks if _passage(fallback).defines(entry_point)]
    return next((fallback for fallback in (*defining, *fallbacks) if fallback.strip()), "")


def _split(text: str, entry_point: str) -> list[list[_Passage]]:
    """Return two lists of an answer's parts: split at fence lines, and split at all fences, tags and tokens."""
    views = [[_passage(part) for part in parts] for parts in (fenced_texts(text), marked_texts(text))]
    if ends_within_fence(text):
        for passages in filter(None, views):
            if passages[-1].stops_within(entry_point):
                passages[-1] = passages[-1]._replace(whole=False)
    return views


def _torn(texts: list[tuple[str, str]], entry_point: str) -> Iterator[list[_Passage]]:
    """Yield several splits of an answer into parts, the best first, for answers without a complete program.

    A fence line within a docstring, or the token limit, can tear a program apart. The unsplit text, or a draft in the
    thoughts, may then contain more of the program.
    """
    ranked: list[list[_Passage]] = []
    drafts: list[list[_Passage]] = []
    for text, answer in texts:
        views, thoughts = _split(answer, entry_point), [*_split(text, entry_point), _unfenced(text)]
        is_torn = any(_definition_length(passages, entry_point) for passages in views)
        ranked += [*views, _unfenced(answer), *(thoughts if is_torn else [])]
        drafts += thoughts
    yield from sorted(ranked, key=lambda found: _definition_length(found, entry_point), reverse=True)
    yield from drafts


def _definition_length(found: Sequence[_Passage], entry_point: str) -> int:
    binding = (item for passage in found for item in passage.statements if entry_point in item.binds)
    return max((len(item.text) for item in binding), default=0)


_longest = cache(longest_program_range)


@cache  # one text is a passage in several ways to see an answer
def _passage(text: str) -> _Passage:
    statements = statements_of(text)
    if statements is not None:
        is_program = not is_escaped(text)
        return _Passage(statements if is_program else [], is_program)
    if (cleaned := without_notebook_lines(text)) != text:
        return _passage(cleaned)
    found = _longest(text) or LineRange(0, 0)
    program = "\n".join(text.split("\n")[found.first : found.last + 1])
    return _Passage([] if is_escaped(program) else statements_of(program) or [], whole=False)


def _unfenced(given: str) -> list[_Passage]:
    found = _longest(text := without_notebook_lines(given))
    if found is None:
        return []
    lines = text.split("\n")
    parts = (lines[: found.first], lines[found.last + 1 :], lines[found.first : found.last + 1])
    return [_passage("\n".join(part)) for part in parts]


def _assembled(found: Sequence[_Passage], entry_point: str) -> str:
    """Join the part that defines the entry point with needed code of other parts; return '' if no part does."""
    defining = [number for number, passage in enumerate(found) if passage.defines(entry_point)]
    if not defining:
        return ""
    working = [number for number in defining if not is_placeholder(found[number].statements, entry_point)]
    whole = [number for number in working if found[number].whole]
    main = (whole or working or defining)[-1]
    selection = Selection(found[main].statements, frozenset({entry_point}))
    parts: list[Statement] = []
    missing = selection.unresolved()
    # Passages before the program are searched first, the nearest one first; those after it last.
    for other in [*reversed(found[:main]), *found[main + 1 :]]:
        supply = Selection(other.statements, frozenset(missing), all_imports=False)
        parts = supply.kept + parts
        missing -= {name for item in supply.kept for name in item.binds}
        missing |= supply.unresolved()
    stated = [item for passage in found for item in passage.statements]
    futures = [item for item in stated if getattr(item.node, "module", "") == "__future__"]
    program = "\n".join(item.text for item in (*parts, *selection.kept) if item not in futures)
    return with_quoted_annotations(program) if any("annotations" in item.mentions for item in futures) else program


class Selection:
    """Statements of a program that define ``names``, such as the entry point, or that these definitions need."""

    def __init__(self, statements: Sequence[Statement], names: frozenset[str], *, all_imports: bool = True) -> None:
        self._statements = statements
        self._names = names
        self._all_imports = all_imports
        self._imported = {name for item in statements if item.is_import for name in item.binds}
        constants = (item for item in statements if isinstance(getattr(item.node, "value", None), ast.Constant))
        self._literals = {name for item in constants if item.is_definition for name in item.binds}
        self._functions = {name for item in statements if item.is_function_or_class for name in item.binds}
        self._binders: dict[str, list[Statement]] = defaultdict(list)
        for item in statements:
            for name in item.binds if item.is_definition else ():
                self._binders[name].append(item)
        self._defined = {name for item in statements if not item.is_import for name in item.binds}
        self._last_binding = max((number for number, item in enumerate(statements) if names & item.binds), default=-1)
        earlier = (item for number, item in enumerate(statements) if number < self._last_binding)
        self._earlier = {name for item in earlier for name in item.binds} | self._imported | self._functions
        self._uses = self._users()
        self._prepared = {name for item in statements if not self._shows(item) for name in item.binds}
        self._by_name = self._closure(names, lambda item: item.mentions)
        self.needed = set(names)
        self.kept: list[Statement] = _without_superseded(self._select())

    def unresolved(self) -> set[str]:
        """Return the names that the kept statements need and that no kept statement binds."""
        if any(item.has_star_import for item in self.kept):
            return set()
        return self.needed - {name for item in self.kept for name in item.binds} - ALWAYS_BOUND

    def _select(self) -> list[Statement]:
        chosen: set[int] = set()
        before, rounds = -1, 0
        while before < len(chosen):
            before, rounds = len(chosen), rounds + 1
            # Helpers mostly precede their users, so that backward passes need few rounds; forward passes do the rest.
            for number, item in list(enumerate(self._statements))[:: -1 if rounds % 2 else 1]:
                if number not in chosen and self._wanted(number, item):
                    chosen.add(number)
                    self.needed |= item.needs
        return [self._statements[number] for number in sorted(chosen)]

    def _wanted(self, number: int, item: Statement) -> bool:
        if item.is_import:
            # An example may import the entry point from a module that does not exist.
            is_example = bool(item.binds & self._names & self._defined)
            return not is_example and (self._all_imports or bool(item.binds & self.needed) or item.has_star_import)
        if item.is_main_guard or isinstance(item.node, ast.Assert) or self._hides(number, item):
            return False
        needed = self.needed & item.binds
        if self._shows(item) and not needed & self._names:
            targets = getattr(item.node, "targets", []) or [getattr(item.node, "target", None)]
            parts = {root_name(target) for target in targets if isinstance(target, ast.Attribute | ast.Subscript)}
            changed = needed - self._prepared | parts & self.needed
            return isinstance(item.node, ast.Assign | ast.AugAssign | ast.AnnAssign) and bool(changed)
        if needed:
            return True
        if item.is_definition:
            # A later definition that only shares its name with a variable of the entry point is an example's input.
            is_example = number > self._last_binding and item.is_calculated
            return bool(item.binds & self._by_name and not is_example) or any(
                self._changes_data(root_name(decorator))
                for decorator in item.decorators  # registers itself
            )
        return self._sets_up(number, item)

    def _shows(self, item: Statement) -> bool:
        """Tell if a statement other than a function or class uses the entry point, as an example does."""
        return not item.is_function_or_class and bool(item.reads & self._uses)

    def _hides(self, number: int, item: Statement) -> bool:
        """Tell if a statement after the entry point only assigns to earlier names, as an example does."""
        anew = isinstance(item.node, ast.Assign | ast.AnnAssign) and not item.reads & item.binds
        return anew and number > self._last_binding and set() < item.binds <= self._earlier

    def _sets_up(self, number: int, item: Statement) -> bool:
        """Tell if a statement that defines nothing is setup: it imports, changes a needed object or calls a library."""
        changes = bool(self._objects(item.touches))
        if not isinstance(item.node, ast.Expr):
            return (item.has_import and self._all_imports) or changes
        call = item.node.value
        if not isinstance(call, ast.Call):
            return False
        root = root_name(call)
        if (call.func.attr if isinstance(call.func, ast.Attribute) else root) in _SHOWS:
            return False
        if root in self._imported and not changes:
            # After the entry point such a call prepares an example, or cleans up after it.
            is_example = self._all_imports and number > self._last_binding
            return not is_example and item.reads <= self._imported | ALWAYS_BOUND | self.needed | self._literals
        return changes or (isinstance(call.func, ast.Name) and self._changes_data(root))

    def _objects(self, names: set[str]) -> set[str]:
        return (names & self.needed) - self._imported - ALWAYS_BOUND

    def _changes_data(self, function: str) -> bool:
        """Tell if ``function`` uses data that the entry point needs: a call of this function may change the data."""
        if function not in self._functions:
            return False
        return bool(self._objects(self._closure({function}, lambda item: item.needs)) - self._functions)

    def _users(self) -> set[str]:
        """Return the selected names and all functions that use them, except functions that the selected names need."""
        callers: dict[str, set[str]] = defaultdict(set)
        for item in self._statements:
            if item.is_function_or_class:
                for name in item.needs:
                    callers[name] |= item.binds
        helpers = self._closure(self._names, lambda item: item.needs)
        return reachable(self._names, lambda name: callers[name]) - (helpers - self._names)

    def _closure(self, names: Iterable[str], mentions: Callable[[Statement], set[str]]) -> set[str]:
        """Return ``names`` and all names that the definitions of ``names`` mention, directly or indirectly."""
        return reachable(names, lambda name: chain.from_iterable(map(mentions, self._binders.get(name, ()))))


def _without_superseded(kept: list[Statement]) -> list[Statement]:
    """Drop each function or class that a later definition of the same name replaces before its first use."""
    live: list[Statement] = []
    used_since: dict[str, bool] = {}  # names bound by a later function or class: read in between?
    for item in reversed(kept):
        superseded = bool(item.binds) and all(used_since.get(name) is False for name in item.binds)
        if item.is_function_or_class and not item.decorators and superseded:
            continue
        for name in item.reads & used_since.keys():
            used_since[name] = True
        if item.is_function_or_class:
            used_since |= {name: name in item.reads for name in item.binds}
        live.append(item)
    return live[::-1]
