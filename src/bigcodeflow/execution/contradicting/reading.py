"""What a test text holds: its test methods, the helpers that they reach, the assertions, and where values come from."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_Definition = ast.FunctionDef | ast.AsyncFunctionDef
_TEST_CLASS = "TestCases"
#: Assertions of one method that are looked at, and times that a text is read for what depends on the program: a text
#: made to take long has more.
_MOST_SITES, _MOST_PASSES = 100, 50
_WRITING = re.compile(r"[wax][bt+]*")
_OBSERVING_NAMES = (
    "listdir glob iglob rglob iterdir walk scandir exists isfile isdir is_file is_dir stat getsize getmtime read_text"
    " read_bytes read_csv read_json read_excel read_sql imread load_workbook ZipFile namelist getvalue"
    " fetchall fetchone get_fignums gcf gca"
)
_OBSERVING = frozenset(_OBSERVING_NAMES.split())
#: Context managers and calls of which the body is expected to fail.
RAISING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "raises"})
_WARNING = frozenset({"assertWarns", "assertWarnsRegex", "assertLogs", "assertNoLogs"})


class Site(NamedTuple):
    """An assertion as a test method reaches it."""

    node: ast.Call | ast.Assert
    scope: "Scope"
    bound: dict[str, ast.expr]
    """Where a helper holds it: its parameters with the arguments of the call that the test method makes."""
    caller: "Scope"
    """The function that makes this call; the same as ``scope`` where no helper holds the assertion."""


@dataclass
class Scope:
    """One function of the test text, its nested functions included."""

    name: str
    node: _Definition
    reading: "Reading"
    bindings: dict[str, list[ast.expr | None]] = field(default_factory=lambda: defaultdict(list))
    """Names and 'self.' attributes with what is assigned to them; None for what cannot be told."""
    tainted: set[str] = field(default_factory=set)
    """Those that depend on the program."""

    def depends(self, node: ast.AST) -> bool:
        """Whether an expression depends on what the program returned or was given by it."""
        return any(self.names_program(part) or _observes(part) for part in ast.walk(node))

    def names_program(self, part: ast.AST) -> bool:
        """Whether a name or an attribute of self stands for the program or for something that it made."""
        key = key_of(part)
        return bool(key) and (key in self.tainted or key in self.reading.tainted)

    def definition(self, node: ast.expr) -> ast.expr | None:
        """The one expression that a local name or an attribute of self is bound to."""
        key = key_of(node)
        found = self.bindings.get(key) or (self.reading.attributes.get(key) if "." in key else None) or []
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

    def is_read_once(self, name: str) -> bool:
        """Whether one expression alone reads a local name."""
        reads = [part for part in ast.walk(self.node) if isinstance(part, ast.Name) and part.id == name]
        return sum(isinstance(part.ctx, ast.Load) for part in reads) == 1

    def calls_program(self, node: ast.AST) -> bool:
        """Whether the node is a call of the entry point, or of something that it returned or that calls it."""
        return isinstance(node, ast.Call) and self.depends(node.func) and not is_assertion(node)


class Reading:
    """The test class of a text, with the functions that its methods reach."""

    def __init__(self, module: ast.Module, entry_point: str) -> None:
        self.module, self.entry_point = module, entry_point
        self._functions = {one.name: one for one in module.body if isinstance(one, _Definition)}
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
        found = [Site(node, own, {}, own) for node in _assertions(reached_parts(own))]
        todo, seen = [own], {own.name}
        while todo and len(found) < _MOST_SITES:
            scope = todo.pop(0)
            for call in reached_parts(scope):
                helper = self.scopes.get(key_of(call.func)) if isinstance(call, ast.Call) else None
                if helper is None or not isinstance(call, ast.Call) or (scope is not own and helper.name in seen):
                    continue
                bound = _bound(call, helper.node, key_of(call.func)) if scope is own else {}
                found += [Site(node, helper, bound, own) for node in _assertions(reached_parts(helper))]
                if helper.name not in seen:
                    seen.add(helper.name)
                    todo.append(helper)
        return found[:_MOST_SITES]

    def reached(self, test: str) -> set[str]:
        """Keys of the scopes that a test method runs through, fixtures excluded."""
        return self.reached_from(f"self.{test}")

    def reached_from(self, first: str) -> set[str]:
        """Keys of a scope and of those that it calls, directly or not."""
        reached, todo = set[str](), [first]
        while todo:
            key = todo.pop()
            if key in reached:
                continue
            reached.add(key)
            called = (key_of(part.func) for part in ast.walk(self.scopes[key].node) if isinstance(part, ast.Call))
            todo += [one for one in called if one in self.scopes]
        return reached

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
                if any((isinstance(part, ast.Name) and part.id in self.tainted) or _observes(part) for part in parts):
                    self.tainted.add(key)
                _taint(scope)


def _methods(module: ast.Module) -> dict[str, _Definition]:
    """Methods of the test class, those of its bases in the text included."""
    classes = {one.name: one for one in module.body if isinstance(one, ast.ClassDef)}
    methods: dict[str, _Definition] = {}
    todo, seen = [_TEST_CLASS], set[str]()
    while todo:
        name = todo.pop(0)
        if name in seen or name not in classes:
            continue
        seen.add(name)
        for one in classes[name].body:
            if isinstance(one, _Definition) and one.name not in methods:
                methods[one.name] = one
            elif isinstance(one, _Definition) and name == _TEST_CLASS:
                methods[one.name] = one  # the last of two methods of one name counts
        todo += [base.id for base in classes[name].bases if isinstance(base, ast.Name)]
    return methods


def key_of(node: ast.AST) -> str:
    """'name' for a name, 'self.name' for an attribute of self or of the class, and nothing for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self" | "cls" | "TestCases"), attr=name):
            return f"self.{name}"
    return ""


def is_assertion(node: ast.AST) -> bool:
    """Whether a call is an assertion of unittest, of a mock, or of a library's testing module."""
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    own = isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and bool(key_of(node.func)))
    return name in RAISING or (name.startswith("assert") and (not own or name[6:7].isupper() or "_" in name))


def assertions_in(node: ast.AST) -> list[ast.Call | ast.Assert]:
    """Every assertion below a node."""
    return _assertions(ast.walk(node))


def _assertions(parts: Iterable[ast.AST]) -> list[ast.Call | ast.Assert]:
    found = (part for part in parts if isinstance(part, ast.Assert | ast.Call))
    return [part for part in found if isinstance(part, ast.Assert) or is_assertion(part)]


def reached_parts(scope: Scope) -> Iterator[ast.AST]:
    """Every node that all correct programs have the function run, none where an assertion is expected to fail.

    What an ``if``, a loop or a handler may skip, depending on the program, is left out: a program that passes because
    an assertion is skipped passes the altered one as well.
    """
    yield from _reached_list(scope.node.body, scope)


def _reached_list(statements: Iterable[ast.AST], scope: Scope) -> Iterator[ast.AST]:
    for statement in statements:
        yield from _reached(statement, scope)
        if _may_leave(statement, scope):
            return


def _reached(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.With | ast.AsyncWith) and any(_expects_failure(item) for item in node.items):
        for item in node.items:
            yield from _reached(item, scope)
        return
    skipped = _skippable(node, scope)
    for name, value in ast.iter_fields(node):
        if name not in skipped:
            parts = value if isinstance(value, list) else [value]
            yield from _reached_list((part for part in parts if isinstance(part, ast.AST)), scope)


def _skippable(node: ast.AST, scope: Scope) -> tuple[str, ...]:
    """Fields of a node that a correct program may have skipped, or not run to their end."""
    skipped: tuple[str, ...] = ()
    match node:
        case ast.If(test=decisive) | ast.While(test=decisive) | ast.IfExp(test=decisive) | ast.Match(subject=decisive):
            skipped = ("body", "orelse", "cases") if scope.depends(decisive) else ()
        case ast.For(iter=decisive) | ast.AsyncFor(iter=decisive):
            skipped = ("body", "orelse") if scope.depends(decisive) else ()
        case ast.ListComp(generators=made) | ast.GeneratorExp(generators=made) | ast.SetComp(generators=made):
            skipped = ("elt",) if any(scope.depends(one.iter) or one.ifs for one in made) else ()
        case ast.Try(handlers=[_, *_]):
            skipped = ("body", "handlers", "orelse")
        case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            skipped = ("body",)
        case ast.With(items=items) if any("suppress" in ast.dump(one.context_expr) for one in items):
            skipped = ("body",)
    return skipped


def _may_leave(node: ast.AST, scope: Scope) -> bool:
    """Whether a statement may end the list that it stands in, depending on the program."""
    match node:
        case ast.If() | ast.Try() | ast.For() | ast.While() | ast.With():
            leaving = (ast.Return, ast.Break, ast.Continue)
            return bool(_skippable(node, scope)) and any(isinstance(part, leaving) for part in ast.walk(node))
    return False


def _expects_failure(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and getattr(call.func, "attr", "") in RAISING


def _observes(node: ast.AST) -> bool:
    """Whether a call reads files, which the program may have written."""
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name != "open":
        return name in _OBSERVING
    modes = [
        one.value for one in (*node.args[:2], *(one.value for one in node.keywords)) if isinstance(one, ast.Constant)
    ]
    return not any(isinstance(one, str) and _WRITING.fullmatch(one) for one in modes)


def _bound(call: ast.Call, helper: _Definition, key: str) -> dict[str, ast.expr]:
    names = [one.arg for one in [*helper.args.posonlyargs, *helper.args.args]]
    static = any(getattr(one, "id", "") == "staticmethod" for one in helper.decorator_list)
    given = dict(zip(names if static or "." not in key else names[1:], call.args, strict=False))
    return given | {one.arg: one.value for one in call.keywords if one.arg}


def _bind(scope: Scope) -> None:
    for argument in _parameters(scope.node):
        scope.bindings[argument].append(None)
    for part in ast.walk(scope.node):
        for target, value in _assigned(part):
            _bind_target(scope, target, value)


def _parameters(function: _Definition) -> list[str]:
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
        scope.reading.tainted.add(key)
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


def _mocks(function: _Definition) -> Iterator[str]:
    """Names of what the program is observed through."""
    decorated = [one for one in function.decorator_list if "patch" in ast.dump(one)]
    if decorated:
        yield from [one.arg for one in function.args.args][1:]
    for part in ast.walk(function):
        if isinstance(part, ast.withitem) and isinstance(part.optional_vars, ast.Name):
            name = ast.dump(part.context_expr)
            if "patch" in name or any(one in name for one in (*RAISING, *_WARNING)):
                yield part.optional_vars.id
