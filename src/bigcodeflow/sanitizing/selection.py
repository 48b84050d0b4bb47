"""Which top-level statements of a program its entry point needs.

Kept are all imports and whatever binds or changes an object that the entry point comes to use, in the program's own
order. Left out is what only shows the entry point at work: calls, prints, asserts, ``__main__`` blocks.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from bigcodeflow.sanitizing.statements import ALWAYS_BOUND, Statement, root_name

#: Calls that end, show or test a program; as statements they set nothing up.
_SHOWS = frozenset(
    {"print", "pprint", "pp", "show", "display", "main", "testmod", "run_docstring_examples"}
    | {"exit", "quit", "_exit", "input", "breakpoint", "sleep"}
)


class Selection:
    """The statements that some names of a program need."""

    def __init__(self, statements: Sequence[Statement], names: frozenset[str], *, all_imports: bool = True) -> None:
        self._statements = statements
        self._names = names
        self._all_imports = all_imports
        self._imported = {name for item in statements if item.is_import for name in item.binds}
        self._literals = {name for item in statements if item.is_literal for name in item.binds}
        self._functions = {name for item in statements if item.is_function_or_class for name in item.binds}
        self._binders: dict[str, list[Statement]] = defaultdict(list)
        for item in statements:
            for name in item.binds if item.is_definition else ():
                self._binders[name].append(item)
        self._defined = {name for item in statements if not item.is_import for name in item.binds}
        binding = [number for number, item in enumerate(statements) if names & item.binds]
        self._last_binding = binding[-1] if binding else -1
        self._uses = self._users()
        self._by_name = self._closure(names, lambda item: item.mentions)
        self.needed = set(names)
        self.kept: list[Statement] = self._without_superseded(self._select())

    def unresolved(self) -> set[str]:
        """Names that the kept statements need and that nothing in the program binds."""
        if any(item.is_import and "*" in item.mentions for item in self.kept):
            return set()
        return self.needed - {name for item in self.kept for name in item.binds} - ALWAYS_BOUND

    def _select(self) -> list[Statement]:
        chosen: set[int] = set()
        before = -1
        rounds = 0
        while before < len(chosen):
            before = len(chosen)
            rounds += 1
            # Helpers mostly precede their users, so that backwards few rounds do; every second one is for the others.
            for number, item in list(enumerate(self._statements))[:: -1 if rounds % 2 else 1]:
                if number not in chosen and self._wanted(number, item):
                    chosen.add(number)
                    self.needed |= item.needs
        return [self._statements[number] for number in sorted(chosen)]

    def _wanted(self, number: int, item: Statement) -> bool:
        if item.is_import:
            return self._wants_import(item)
        if item.is_main_guard or isinstance(item.node, ast.Assert):
            return False
        needed = self.needed & item.binds
        if needed and self._binds_properly(item, needed):
            return True
        if self._uses_names(item):  # shows the entry point at work
            return bool(self._changed(item) & self.needed)
        if item.is_definition:
            return self._wants_definition(number, item)
        return self._wants_effect(item)

    def _wants_definition(self, number: int, item: Statement) -> bool:
        # What follows the entry point and only shares the name of one of its variables is an example's input.
        is_example = number > self._last_binding and item.is_calculated
        if item.binds & self._by_name and not is_example:
            return True
        return any(self._changes_data(root_name(decorator)) for decorator in item.decorators)  # registers itself

    def _wants_effect(self, item: Statement) -> bool:
        if isinstance(item.node, ast.Expr):
            return self._wants_call(item)
        return (item.has_import and self._all_imports) or bool(self._objects(item.touches))

    def _wants_import(self, item: Statement) -> bool:
        if item.binds & self._names & self._defined:
            return False  # an example imports the entry point from a module that does not exist
        return self._all_imports or bool(item.binds & self.needed) or "*" in item.mentions

    def _binds_properly(self, item: Statement, needed: set[str]) -> bool:
        """Binds a needed name, and not only as the variable of a loop that shows the entry point at work."""
        return item.is_definition or bool(needed & self._names) or not self._uses_names(item)

    def _changed(self, item: Statement) -> set[str]:
        return item.touches if isinstance(item.node, ast.Assign | ast.AugAssign | ast.AnnAssign) else set()

    def _objects(self, names: set[str]) -> set[str]:
        return (names & self.needed) - self._imported - ALWAYS_BOUND

    def _wants_call(self, item: Statement) -> bool:
        call = item.node.value if isinstance(item.node, ast.Expr) else None
        if not isinstance(call, ast.Call):
            return False
        called = call.func.attr if isinstance(call.func, ast.Attribute) else root_name(call.func)
        if called in _SHOWS:
            return False
        if self._objects(item.touches):
            return True
        root = root_name(call.func)
        if root in self._imported:
            return item.now <= self._imported | ALWAYS_BOUND | self.needed | self._literals
        return isinstance(call.func, ast.Name) and self._changes_data(root)

    def _changes_data(self, function: str) -> bool:
        """Whether a function of the program has to do with data that the entry point needs, and so may fill it."""
        if function not in self._functions:
            return False
        return bool(self._objects(self._closure({function}, lambda item: item.needs)) - self._functions)

    def _uses_names(self, item: Statement) -> bool:
        return not item.is_function_or_class and bool(item.now & self._uses)

    def _users(self) -> set[str]:
        """The selected names and all functions that use them, but for those that they use themselves."""
        callers: dict[str, set[str]] = defaultdict(set)
        helpers: set[str] = set()
        for item in self._statements:
            if item.is_function_or_class:
                for name in item.needs:
                    callers[name] |= item.binds
        for name in self._names:
            helpers |= self._closure({name}, lambda item: item.needs)
        users, waiting = set(self._names), list(self._names)
        while waiting:
            new = callers[waiting.pop()] - users
            users |= new
            waiting += new
        return users - (helpers - self._names)

    def _closure(self, names: Iterable[str], mentions: Callable[[Statement], set[str]]) -> set[str]:
        """The names, and all that the definitions of these and of what they mention, mention."""
        reached = set(names)
        waiting = list(reached)
        while waiting:
            for item in self._binders.get(waiting.pop(), ()):
                new = mentions(item) - reached
                reached |= new
                waiting += new
        return reached

    def _without_superseded(self, kept: list[Statement]) -> list[Statement]:
        """Drop functions and classes that a later one replaces before anything has used them."""
        live: list[Statement] = []
        used_since: dict[str, bool] = {}  # names bound by a later function or class: read in between?
        for item in reversed(kept):
            names = item.binds
            if (
                item.is_function_or_class
                and not item.decorators
                and names
                and all(used_since.get(name) is False for name in names)
            ):
                continue
            for name in item.now & used_since.keys():
                used_since[name] = True
            if item.is_function_or_class:
                used_since |= {name: name in item.now for name in names}
            live.append(item)
        return live[::-1]
