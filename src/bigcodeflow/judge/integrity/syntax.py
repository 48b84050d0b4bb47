"""Syntax analysis of a test text: test methods, the helpers that they call, assertions, and origins of values."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from bigcodeflow.core import untrusted_text
from bigcodeflow.core.source_text import called_name

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Assertion = ast.Call | ast.Assert

_WRITING = re.compile(r"[wax][bt+]*")
_OBSERVING = frozenset(
    """listdir glob iglob rglob iterdir walk scandir exists isfile isdir is_file is_dir stat getsize getmtime read_text
    read_bytes read_csv read_json read_excel read_sql imread load_workbook ZipFile namelist getvalue
    fetchall fetchone get_fignums gcf gca""".split()  # noqa: SIM905 -- as a list it takes a screen
)
_TEST_CLASS = "TestCases"
#: Limits on the assertions per method and on the passes that search for dependencies on the program: only a text
#: that was made to take long exceeds them.
_MOST_SITES, _MOST_PASSES = 100, 50
#: Assertions that expect an exception; assertions that expect a warning or a log entry.
RAISING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "raises"})
WARNING = frozenset({"assertWarns", "assertWarnsRegex", "assertLogs", "assertNoLogs"})


def tree_of(text: str) -> ast.Module | None:
    """Return the syntax tree of a text; None if the text cannot be parsed."""
    with suppress(*untrusted_text.REFUSALS):
        return untrusted_text.parse(text)
    return None


def test_methods(module: ast.Module) -> list[Definition]:
    """Return the test methods that the class TestCases itself defines, without inherited methods."""
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == _TEST_CLASS]
    parts = [part for node in classes for part in node.body if isinstance(part, Definition)]
    return [part for part in parts if part.name.startswith("test")]


def key_of(node: ast.AST) -> str:
    """Return 'name' for a name, 'self.name' for an attribute of self or of the class, empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self" | "cls" | "TestCases"), attr=name):
            return f"self.{name}"
    return ""


def pin_id(node: ast.expr) -> str:
    """Return the position 'line:column' of an expression, which identifies its recorded value."""
    return f"{node.lineno}:{node.col_offset}"


def is_assertion(node: ast.AST) -> bool:
    """Tell if a node calls an assertion of unittest, of a mock, or of a module such as numpy.testing."""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    own = isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and bool(key_of(node.func)))
    return name in RAISING or (name.startswith("assert") and (not own or name[6:7].isupper() or "_" in name))


def assertions_in(nodes: Iterable[ast.AST]) -> list[Assertion]:
    found = (node for node in nodes if isinstance(node, ast.Assert | ast.Call))
    return [node for node in found if isinstance(node, ast.Assert) or is_assertion(node)]


def expects_failure(item: ast.withitem) -> bool:
    """Tell if a ``with`` item, such as assertRaises, requires an exception from its block."""
    call = item.context_expr
    return isinstance(call, ast.Call) and getattr(call.func, "attr", "") in RAISING


def observes(node: ast.AST) -> bool:
    """Tell if a node is a call that reads files or other state that the program may have written."""
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    if name != "open":
        return name in _OBSERVING
    modes = [getattr(one, "value", None) for one in (*node.args[:2], *(one.value for one in node.keywords))]
    return not any(isinstance(one, str) and _WRITING.fullmatch(one) for one in modes)


class Site(NamedTuple):
    """Assertion, and the path by which a test method reaches it: directly, or through a helper."""

    node: Assertion
    scope: "Scope"
    bound: dict[str, ast.expr]
    """Arguments by parameter name, if the test method itself calls the helper with the assertion; else empty."""
    caller: "Scope"
    """Scope of the test method; the same as ``scope`` if the assertion is in the test method itself."""


@dataclass
class Scope:
    """Function of the test text, including its nested functions."""

    name: str
    node: Definition
    parsed: "ParsedTest"
    bindings: dict[str, list[ast.expr | None]] = field(default_factory=lambda: defaultdict(list))
    """Expressions assigned to each name and 'self.' attribute, by its key; None for an unknown value."""
    tainted: set[str] = field(default_factory=set)
    """Names whose values depend on the program."""

    def depends(self, node: ast.AST) -> bool:
        """Tell if an expression depends on values that the program returned or changed, or on files."""
        tainted = self.tainted | self.parsed.tainted
        return any(key_of(part) in tainted or observes(part) for part in ast.walk(node))

    def definition(self, node: ast.expr) -> ast.expr | None:
        """Return the only expression assigned to a local name or self attribute; None if there are none or several."""
        key = key_of(node)
        found = self.bindings.get(key) or (self.parsed.attributes.get(key) if "." in key else None) or []
        return found[0] if len(found) == 1 else None

    def read(self, name: str = "") -> list[ast.Name]:
        """Return the nodes in which the function reads the variable ``name``, or any variable if ``name`` is empty."""
        names = [part for part in ast.walk(self.node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
        return [part for part in names if not name or part.id == name]

    @cached_property
    def compared(self) -> set[str]:
        """Names that are read only in assertions, outside calls of the program: the program never gets their values."""
        within = set[int]()
        for call in assertions_in(ast.walk(self.node)):
            given = [part for one in ast.walk(call) if self.calls_program(one) for part in ast.walk(one)]
            within |= {id(part) for part in ast.walk(call)} - set(map(id, given))
        return {one.id for one in self.read()} - {one.id for one in self.read() if id(one) not in within}

    def calls_program(self, node: ast.AST) -> bool:
        """Tell if a node calls the entry point, a result of the program, or a helper that uses the program."""
        if not isinstance(node, ast.Call) or not self.depends(node.func):
            return False
        return key_of(node.func) in self.parsed.scopes or not is_assertion(node)

    @cached_property
    def parts(self) -> list[ast.AST]:
        """Syntax nodes of the function that are executed with every correct program."""
        return list(_reached(self.node.body, self.depends))

    @cached_property
    def called(self) -> set[str]:
        """Keys of the functions of the test text that this function may call."""
        calls = {key_of(part.func) for part in ast.walk(self.node) if isinstance(part, ast.Call)}
        return calls & self.parsed.scopes.keys()


class ParsedTest:
    """Parsed test text: the methods of the class TestCases, and the functions that these methods can call."""

    def __init__(self, module: ast.Module, entry_point: str) -> None:
        self.module = module
        methods = _methods(module)
        self.tests = sorted(name for name in methods if name.startswith("test"))
        self.attributes: dict[str, list[ast.expr | None]] = defaultdict(list)
        self.tainted = {entry_point}
        self.scopes = {f"self.{name}": Scope(name, node, self) for name, node in methods.items()}
        self.scopes |= {one.name: Scope(one.name, one, self) for one in module.body if isinstance(one, Definition)}
        for scope in self.scopes.values():
            _bind(scope)
            for key, values in scope.bindings.items():
                if "." in key:
                    self.attributes[key] += values
        self._spread()

    @cached_property
    def raised(self) -> frozenset[str]:
        """Names of the exceptions that assertions such as assertRaises expect."""
        calls = (node for node in ast.walk(self.module) if isinstance(node, ast.Call) and called_name(node) in RAISING)
        parts = (part for call in calls if call.args for part in ast.walk(call.args[0]))
        return frozenset(part.id for part in parts if isinstance(part, ast.Name))

    def sites(self, test: str) -> list[Site]:
        """Return at most _MOST_SITES assertions that a test method reaches, first its own, then those in helpers."""
        own = self.scopes[f"self.{test}"]
        found = [Site(node, own, {}, own) for node in assertions_in(own.parts)]
        todo, seen = [own], {own.name}
        while todo and len(found) < _MOST_SITES:
            scope = todo.pop(0)
            for call in (part for part in scope.parts if isinstance(part, ast.Call)):
                helper = self.scopes.get(key_of(call.func))
                if helper is None or (scope is not own and helper.name in seen):
                    continue
                bound = _bound_arguments(call, helper.node) if scope is own else {}
                found += [Site(node, helper, bound, own) for node in assertions_in(helper.parts)]
                if helper.name not in seen:
                    seen.add(helper.name)
                    todo.append(helper)
        return found[:_MOST_SITES]

    def callers(self) -> dict[str, frozenset[str]]:
        """Return for each scope's key the test methods that call the scope, directly or by helpers, not by fixtures."""
        reached = {test: self.reached_from(f"self.{test}") for test in self.tests}
        return {key: frozenset(test for test in self.tests if key in reached[test]) for key in self.scopes}

    def reached_from(self, first: str) -> set[str]:
        """Return the scope key ``first`` and the keys of all scopes that this scope calls, directly or indirectly."""
        reached, todo = set[str](), {first}
        while todo:
            reached |= todo
            todo = set().union(*(self.scopes[key].called for key in todo)) - reached
        return reached

    @cached_property
    def imported(self) -> set[str]:
        """Names that import statements bind, anywhere in the test text."""
        imports = (part for part in ast.walk(self.module) if isinstance(part, ast.Import | ast.ImportFrom))
        return {(alias.asname or alias.name).split(".")[0] for one in imports for alias in one.names}

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """Assigned expressions by name, for names that are assigned exactly once at module level."""
        assigned = [one for one in self.module.body if isinstance(one, ast.Assign)]
        named = [(one.targets[0].id, one.value) for one in assigned if isinstance(one.targets[0], ast.Name)]
        times = Counter(name for name, _ in named)
        return {name: value for name, value in named if times[name] == 1}

    def _spread(self) -> None:
        """Mark the names that depend on the program; repeat until no mark is added, at most _MOST_PASSES times."""
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
    """Return by name the methods of TestCases, and the methods of its base classes that are not overridden."""
    classes = {one.name: one for one in module.body if isinstance(one, ast.ClassDef)}
    methods: dict[str, Definition] = {}
    todo = [_TEST_CLASS]
    while todo:
        name = todo.pop(0)
        found = classes.pop(name, None)
        for one in found.body if found else ():
            if isinstance(one, Definition) and (name == _TEST_CLASS or one.name not in methods):
                methods[one.name] = one
        todo += [base.id for base in found.bases if isinstance(base, ast.Name)] if found else []
    return methods


def _bound_arguments(call: ast.Call, helper: Definition) -> dict[str, ast.expr]:
    names = [one.arg for one in [*helper.args.posonlyargs, *helper.args.args]]
    static = any(getattr(one, "id", "") == "staticmethod" for one in helper.decorator_list)
    has_self = isinstance(call.func, ast.Attribute) and not static
    given = dict(zip(names[1:] if has_self else names, call.args, strict=False))
    return given | {one.arg: one.value for one in call.keywords if one.arg}


def _bind(scope: Scope) -> None:
    nested = [part.args for part in ast.walk(scope.node) if isinstance(part, ast.FunctionDef | ast.Lambda)]
    for part in (part for arguments in [scope.node.args, *nested] for part in ast.walk(arguments)):
        if isinstance(part, ast.arg):
            scope.bindings[part.arg].append(None)
    for part in ast.walk(scope.node):
        for target, value, _ in _assigned(part):
            _bind_target(scope, target, value)


def _bind_target(scope: Scope, target: ast.expr, value: ast.expr | None) -> None:
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            for index, one in enumerate(targets):
                _bind_target(scope, one, values[index] if len(values) == len(targets) else None)
        case ast.Starred(value=inner) | ast.Subscript(value=inner):
            _bind_target(scope, inner, None)  # a part of the value, or changed in place: value unknown
        case ast.Name() | ast.Attribute() if key_of(target):
            scope.bindings[key_of(target)].append(value)


def _assigned(part: ast.AST) -> list[tuple[ast.expr, ast.expr | None, ast.expr | None]]:
    """Return (target, value, origin of the value) for each target that a node assigns; None stands for unknown."""
    match part:
        case ast.Assign(targets=targets, value=value):
            return [(target, value, value) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value):
            return [(target, value, value)]
        case (
            ast.AugAssign(target=target, value=source)
            | ast.For(target=target, iter=source)
            | ast.AsyncFor(target=target, iter=source)
            | ast.comprehension(target=target, iter=source)
            | ast.withitem(optional_vars=ast.expr() as target, context_expr=source)
        ):
            return [(target, None, source)]
        case ast.Delete(targets=targets):
            return [(target, None, None) for target in targets]
    return []


def _taint(scope: Scope) -> None:
    """Mark names that receive the program's values, or that observe the program (mocks, assertRaises contexts)."""
    if any("patch" in ast.dump(one) for one in scope.node.decorator_list):
        scope.tainted |= {one.arg for one in scope.node.args.args[1:]}
    for part in ast.walk(scope.node):
        flows = [(target, source) for target, _, source in _assigned(part) if source is not None]
        match part:
            case ast.Call(ast.Attribute(holder, "append" | "extend" | "update" | "add"), [source, *_]):
                flows.append((holder, source))
            case ast.withitem(optional_vars=ast.Name(id=name)):
                manager = ast.dump(part.context_expr)
                if any(one in manager for one in ("patch", *RAISING, *WARNING)):
                    scope.tainted.add(name)
        for target, source in flows:
            if scope.depends(source):
                keys = {key_of(one) for one in ast.walk(target)} - {"", "self"}
                scope.parsed.tainted |= {key for key in keys if "." in key}
                scope.tainted |= {key for key in keys if "." not in key}


def _reached(nodes: Iterable[ast.AST], depends: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    """Yield the nodes that are executed with every correct program, except blocks that must raise.

    Nodes that an ``if``, a loop or a handler may skip, depending on the program, are left out: a program that skips an
    assertion also passes the altered assertion.
    """
    for node in nodes:
        yield node
        skipped = _skippable(node, depends)
        fields = [value for name, value in ast.iter_fields(node) if name not in skipped]
        if isinstance(node, ast.With | ast.AsyncWith) and any(expects_failure(item) for item in node.items):
            fields = [node.items]
        for value in fields:
            parts = value if isinstance(value, list) else [value]
            yield from _reached((part for part in parts if isinstance(part, ast.AST)), depends)
        # The block may leave this list early, depending on the program.
        is_block = isinstance(node, ast.If | ast.Try | ast.For | ast.While | ast.With)
        leaving = (ast.Return, ast.Break, ast.Continue)
        if skipped and is_block and any(isinstance(part, leaving) for part in ast.walk(node)):
            return


def _skippable(node: ast.AST, depends: Callable[[ast.AST], bool]) -> tuple[str, ...]:
    """Return the names of a node's fields that are skipped, or left before their end, with some correct programs."""
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
