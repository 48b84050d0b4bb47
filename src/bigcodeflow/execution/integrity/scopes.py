"""What a test text holds: its test methods, the helpers that they reach, the assertions, and where values come from."""

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from bigcodeflow.execution.integrity.syntax import (
    RAISING,
    WARNING,
    Assertion,
    Definition,
    assertions_in,
    assertions_of,
    bound_arguments,
    expects_failure,
    is_assertion,
    key_of,
    observes,
)

_TEST_CLASS = "TestCases"
#: Assertions of one method that are looked at, and times that a text is read for what depends on the program: a text
#: made to take long has more.
_MOST_SITES, _MOST_PASSES = 100, 50


class Site(NamedTuple):
    """An assertion as a test method reaches it."""

    node: Assertion
    scope: "Scope"
    bound: dict[str, ast.expr]
    """Where a helper holds it: its parameters with the arguments of the call that the test method makes."""
    caller: "Scope"
    """The function that makes this call; the same as ``scope`` where no helper holds the assertion."""


@dataclass
class Scope:
    """One function of the test text, its nested functions included."""

    name: str
    node: Definition
    parsed: "ParsedTest"
    bindings: dict[str, list[ast.expr | None]] = field(default_factory=lambda: defaultdict(list))
    """Names and 'self.' attributes with what is assigned to them; None for what is unknown."""
    tainted: set[str] = field(default_factory=set)
    """Those that depend on the program."""

    def depends(self, node: ast.AST) -> bool:
        """Whether an expression depends on what the program returned or was given by it."""
        return any(self.names_program(part) or observes(part) for part in ast.walk(node))

    def names_program(self, part: ast.AST) -> bool:
        """Whether a name or an attribute of self stands for the program or for something that it made."""
        key = key_of(part)
        return bool(key) and (key in self.tainted or key in self.parsed.tainted)

    def definition(self, node: ast.expr) -> ast.expr | None:
        """The one expression that a local name or an attribute of self is bound to."""
        key = key_of(node)
        found = self.bindings.get(key) or (self.parsed.attributes.get(key) if "." in key else None) or []
        return found[0] if len(found) == 1 else None

    def only_compared(self, name: str) -> bool:
        """Whether assertions alone read a local name, so that its value never reaches the program."""
        return name in self._compared

    @cached_property
    def _compared(self) -> set[str]:
        within = set[int]()
        for call in assertions_in(self.node):
            given = [part for one in ast.walk(call) if self.calls_program(one) for part in ast.walk(one)]
            within |= {id(part) for part in ast.walk(call)} - set(map(id, given))
        names = [part for part in ast.walk(self.node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
        return {one.id for one in names} - {one.id for one in names if id(one) not in within}

    @cached_property
    def parts(self) -> list[ast.AST]:
        """The nodes that every correct program has the function run."""
        return list(reached_parts(self.node, self.depends))

    @cached_property
    def helper_calls(self) -> list[tuple[str, ast.Call]]:
        """The calls among them that run another function of the test text, with its key."""
        calls = [(key_of(part.func), part) for part in self.parts if isinstance(part, ast.Call)]
        return [(key, call) for key, call in calls if key in self.parsed.scopes]

    @cached_property
    def called(self) -> set[str]:
        """Keys of the functions of the test text that it may call."""
        calls = (key_of(part.func) for part in ast.walk(self.node) if isinstance(part, ast.Call))
        return {key for key in calls if key in self.parsed.scopes}

    def is_read_once(self, name: str) -> bool:
        """Whether one expression alone reads a local name."""
        reads = [part for part in ast.walk(self.node) if isinstance(part, ast.Name) and part.id == name]
        return sum(isinstance(part.ctx, ast.Load) for part in reads) == 1

    def calls_program(self, node: ast.AST) -> bool:
        """Whether the node is a call of the entry point, or of something that it returned or that calls it."""
        if not isinstance(node, ast.Call) or not self.depends(node.func):
            return False
        return key_of(node.func) in self.parsed.scopes or not is_assertion(node)


class ParsedTest:
    """The test class of a text, with the functions that its methods reach."""

    def __init__(self, module: ast.Module, entry_point: str) -> None:
        self.module, self.entry_point = module, entry_point
        self._functions = {one.name: one for one in module.body if isinstance(one, Definition)}
        self._methods = _methods(module)
        self.attributes: dict[str, list[ast.expr | None]] = defaultdict(list)
        self.tainted = {entry_point}
        self.scopes = {f"self.{name}": Scope(name, node, self) for name, node in self._methods.items()}
        self.scopes |= {name: Scope(name, node, self) for name, node in self._functions.items()}
        for scope in self.scopes.values():
            _bind(scope)
            for key, values in scope.bindings.items():
                if "." in key:
                    self.attributes[key] += values
        self._spread()

    @property
    def tests(self) -> list[str]:
        """Names of the test methods, sorted."""
        return sorted(name for name in self._methods if name.startswith("test"))

    def sites(self, test: str) -> list[Site]:
        """The assertions that a test method reaches, its own first."""
        own = self.scopes[f"self.{test}"]
        found = [Site(node, own, {}, own) for node in assertions_of(own.parts)]
        todo, seen = [own], {own.name}
        while todo and len(found) < _MOST_SITES:
            scope = todo.pop(0)
            for key, call in scope.helper_calls:
                helper = self.scopes[key]
                if scope is not own and helper.name in seen:
                    continue
                bound = bound_arguments(call, helper.node, key) if scope is own else {}
                found += [Site(node, helper, bound, own) for node in assertions_of(helper.parts)]
                if helper.name not in seen:
                    seen.add(helper.name)
                    todo.append(helper)
        return found[:_MOST_SITES]

    def callers(self) -> dict[str, frozenset[str]]:
        """For every scope the test methods that may run it, fixtures excluded."""
        found: dict[str, set[str]] = defaultdict(set)
        for test in self.tests:
            for key in self.reached_from(f"self.{test}"):
                found[key].add(test)
        return {key: frozenset(tests) for key, tests in found.items()}

    def reached_from(self, first: str) -> set[str]:
        """Keys of a scope and of those that it calls, directly or not."""
        reached, todo = set[str](), [first]
        while todo:
            key = todo.pop()
            if key in reached:
                continue
            reached.add(key)
            todo += self.scopes[key].called
        return reached

    @cached_property
    def imported(self) -> set[str]:
        """Names that imports anywhere in the text bind."""
        imports = (part for part in ast.walk(self.module) if isinstance(part, ast.Import | ast.ImportFrom))
        return {(alias.asname or alias.name).split(".")[0] for one in imports for alias in one.names}

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """Names that the text binds once, outside functions, with what they are bound to."""
        assigned = [one for one in self.module.body if isinstance(one, ast.Assign)]
        named = [(one.targets[0].id, one.value) for one in assigned if isinstance(one.targets[0], ast.Name)]
        times = Counter(name for name, _ in named)
        return {name: value for name, value in named if times[name] == 1}

    def _spread(self) -> None:
        """Mark what depends on the program, until nothing more does."""
        before = -1
        for _ in range(_MOST_PASSES):
            known = len(self.tainted) + sum(len(scope.tainted) for scope in self.scopes.values())
            if known == before:
                return
            before = known
            for key, scope in self.scopes.items():
                parts = ast.walk(scope.node)
                if any((isinstance(part, ast.Name) and part.id in self.tainted) or observes(part) for part in parts):
                    self.tainted.add(key)
                _taint(scope)


def _methods(module: ast.Module) -> dict[str, Definition]:
    """Methods of the test class, those of its bases in the text included."""
    classes = {one.name: one for one in module.body if isinstance(one, ast.ClassDef)}
    methods: dict[str, Definition] = {}
    todo, seen = [_TEST_CLASS], set[str]()
    while todo:
        name = todo.pop(0)
        if name in seen or name not in classes:
            continue
        seen.add(name)
        for one in classes[name].body:
            if isinstance(one, Definition) and one.name not in methods:
                methods[one.name] = one
            elif isinstance(one, Definition) and name == _TEST_CLASS:
                methods[one.name] = one  # the last of two methods of one name counts
        todo += [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
    return methods


def _bind(scope: Scope) -> None:
    for argument in _parameters(scope.node):
        scope.bindings[argument].append(None)
    for part in ast.walk(scope.node):
        for target, value in _assigned(part):
            _bind_target(scope, target, value)


def _parameters(function: Definition) -> list[str]:
    nested = [part.args for part in ast.walk(function) if isinstance(part, ast.FunctionDef | ast.Lambda)]
    return [
        one.arg for arguments in [function.args, *nested] for one in ast.walk(arguments) if isinstance(one, ast.arg)
    ]


def _assigned(part: ast.AST) -> Iterable[tuple[ast.expr, ast.expr | None]]:
    """Targets that a statement or an expression binds, each with its value where that is an expression."""
    match part:
        case ast.Assign(targets=targets, value=value):
            return [(target, value) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            return [(target, value)]
        case ast.AugAssign(target=target) | ast.For(target=target) | ast.AsyncFor(target=target):
            return [(target, None)]
        case ast.comprehension(target=target) | ast.withitem(optional_vars=ast.expr() as target):
            return [(target, None)]
        case ast.Delete(targets=targets):
            return [(target, None) for target in targets]
    return []


def _bind_target(scope: Scope, target: ast.expr, value: ast.expr | None) -> None:
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for index, one in enumerate(targets):
                _bind_target(scope, one, values[index] if len(values) == len(targets) else None)
        case ast.Starred(value=inner):
            _bind_target(scope, inner, None)
        case ast.Subscript(value=inner):
            _bind_target(scope, inner, None)  # changed in place: no longer what it was assigned
        case ast.Name() | ast.Attribute() if key_of(target):
            scope.bindings[key_of(target)].append(value)


def _taint(scope: Scope) -> None:
    for part in ast.walk(scope.node):
        for target, source in _flows(part):
            if scope.depends(source):
                for one in ast.walk(target):
                    _mark(scope, key_of(one))
    for name in _mocks(scope.node):
        scope.tainted.add(name)


def _mark(scope: Scope, key: str) -> None:
    if "." in key:
        scope.parsed.tainted.add(key)
    elif key and key != "self":
        scope.tainted.add(key)


def _flows(part: ast.AST) -> Iterable[tuple[ast.AST, ast.AST]]:
    """Where a value of the second goes into the first."""
    match part:
        case (
            ast.For(target=target, iter=source)
            | ast.AsyncFor(target=target, iter=source)
            | ast.comprehension(target=target, iter=source)
            | ast.withitem(optional_vars=ast.expr() as target, context_expr=source)
            | ast.AnnAssign(target=target, value=ast.expr() as source)
            | ast.AugAssign(target=target, value=source)
            | ast.NamedExpr(target=target, value=source)
        ):
            return [(target, source)]
        case ast.Assign(targets=targets, value=source):
            return [(target, source) for target in targets]
        case ast.Call(func=ast.Attribute(value=holder, attr="append" | "extend" | "update" | "add"), args=[source, *_]):
            return [(holder, source)]
    return []


def _mocks(function: Definition) -> Iterator[str]:
    """Names of what the program is observed through."""
    decorated = [one for one in function.decorator_list if "patch" in ast.dump(one)]
    if decorated:
        yield from [one.arg for one in function.args.args][1:]
    for part in ast.walk(function):
        if isinstance(part, ast.withitem) and isinstance(part.optional_vars, ast.Name):
            name = ast.dump(part.context_expr)
            if "patch" in name or any(one in name for one in (*RAISING, *WARNING)):
                yield part.optional_vars.id


_Depends = Callable[[ast.AST], bool]


def reached_parts(function: Definition, depends: _Depends) -> Iterator[ast.AST]:
    """Every node that all correct programs have the function run, none where an assertion is expected to fail.

    What an ``if``, a loop or a handler may skip, depending on the program, is left out: a program that passes because
    an assertion is skipped passes the altered one as well.
    """
    yield from _reached_list(function.body, depends)


def _reached_list(statements: Iterable[ast.AST], depends: _Depends) -> Iterator[ast.AST]:
    for statement in statements:
        yield from _reached(statement, depends)
        if _may_leave(statement, depends):
            return


def _reached(node: ast.AST, depends: _Depends) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.With | ast.AsyncWith) and any(expects_failure(item) for item in node.items):
        for item in node.items:
            yield from _reached(item, depends)
        return
    skipped = _skippable(node, depends)
    for name, value in ast.iter_fields(node):
        if name not in skipped:
            parts = value if isinstance(value, list) else [value]
            yield from _reached_list((part for part in parts if isinstance(part, ast.AST)), depends)


def _skippable(node: ast.AST, depends: _Depends) -> tuple[str, ...]:
    """Fields of a node that a correct program may have skipped, or not run to their end."""
    skipped: tuple[str, ...] = ()
    match node:
        case ast.If(test=decisive) | ast.While(test=decisive) | ast.IfExp(test=decisive) | ast.Match(subject=decisive):
            skipped = ("body", "orelse", "cases") if depends(decisive) else ()
        case ast.For(iter=decisive) | ast.AsyncFor(iter=decisive):
            skipped = ("body", "orelse") if depends(decisive) else ()
        case ast.ListComp(generators=made) | ast.GeneratorExp(generators=made) | ast.SetComp(generators=made):
            skipped = ("elt",) if any(depends(one.iter) or one.ifs for one in made) else ()
        case ast.Try(handlers=[_, *_]):
            skipped = ("body", "handlers", "orelse")
        case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            skipped = ("body",)
        case ast.With(items=items) if any("suppress" in ast.dump(one.context_expr) for one in items):
            skipped = ("body",)
    return skipped


def _may_leave(node: ast.AST, depends: _Depends) -> bool:
    """Whether a statement may end the list that it stands in, depending on the program."""
    match node:
        case ast.If() | ast.Try() | ast.For() | ast.While() | ast.With():
            leaving = (ast.Return, ast.Break, ast.Continue)
            return bool(_skippable(node, depends)) and any(isinstance(part, leaving) for part in ast.walk(node))
    return False
