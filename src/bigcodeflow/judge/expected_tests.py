"""Determine the test methods that an execution must report, from the test text, without running the text.

Without this list, a program that removes, renames or replaces a test would be judged by fewer tests than the task has.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest

from bigcodeflow.core import untrusted_text

_TEST_CLASS = "TestCases"
_PREFIX = "test"
_NOT_CALLABLE_DECORATORS = frozenset({"property", "cached_property"})
_Namespace = dict[str, object]

#: Kinds of values that names are bound to: a callable, or any other value, which can hide an inherited test.
_CALLABLE = "callable"
_OTHER = "other"


@untrusted_text.remembered  # called for each test by the validation, and again for the table's rows
def expected_test_ids(test: str) -> tuple[str, ...] | None:
    """Return the sorted names of the test methods of class TestCases; None if ``test`` has no such class."""
    found = _namespace(parse_once(test).body).get(_TEST_CLASS)
    if not isinstance(found, type):
        return None
    names = (name for name in dir(found) if name.startswith(_PREFIX))
    return tuple(sorted(name for name in names if getattr(found, name) == _CALLABLE))


@lru_cache(maxsize=2)  # consecutive calls concern the same text; a tree may take 180 MiB
def parse_once(source: str) -> ast.Module:
    """Return the syntax tree of a source text. Callers share the cached tree, so they must not change it."""
    return untrusted_text.parse(source)


def bound_names(program: str) -> frozenset[str]:
    """Return the names that a program's top-level statements define, import or assign."""
    return frozenset(_namespace(parse_once(program).body))


def _namespace(body: Sequence[ast.stmt], module: Mapping[str, object] | None = None) -> _Namespace:
    """Return name → kind for the names that statements bind: a class made by `_class_of`, _CALLABLE or _OTHER.

    ``module`` holds the names of the enclosing module if the statements are the body of a class.
    """
    names: _Namespace = {}
    for statement in _statements(body):
        if not isinstance(statement, ast.ClassDef):
            _bind(statement, names, module or {})
        else:
            names[statement.name] = _class_of(statement, names) if module is None else _OTHER
    return names


def _class_of(definition: ast.ClassDef, module: Mapping[str, object]) -> type:
    """Make a class with only the bases and tests of ``definition``, so that Python itself finds inherited tests."""
    own = _namespace(definition.body, module)
    tests = {name: value for name, value in own.items() if name.startswith(_PREFIX)}
    named = [module.get(base.id) for base in definition.bases if isinstance(base, ast.Name)]
    bases = tuple(base for base in named if isinstance(base, type))
    try:
        return type(definition.name, bases, tests)
    except TypeError:  # bases in an order that Python refuses: the module will not load, its own tests still count
        return type(definition.name, (), tests)


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements in order, including those in if, try, with, for, while and match, but not in definitions."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(statement, ast.If) and isinstance(statement.test, ast.Constant):
            yield from _statements(statement.body if statement.test.value else statement.orelse)
            continue
        branches = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        branches += [one.body for part in ("handlers", "cases") for one in getattr(statement, part, [])]
        for branch in branches:
            yield from _statements(branch)


def _bind(statement: ast.stmt, names: _Namespace, outer: Mapping[str, object]) -> None:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            decorators = {getattr(node, "attr", getattr(node, "id", "")) for node in statement.decorator_list}
            names[statement.name] = _OTHER if decorators & _NOT_CALLABLE_DECORATORS else _CALLABLE
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                names[alias.asname or alias.name.split(".")[0]] = _CALLABLE
        case ast.Assign():
            for target in statement.targets:
                _bind_target(target, statement.value, names, outer)
        case ast.AnnAssign(value=ast.expr() as value):
            _bind_target(statement.target, value, names, outer)
        case ast.Delete():
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    names.pop(target.id, None)


def _bind_target(target: ast.expr, value: ast.expr, names: _Namespace, outer: Mapping[str, object]) -> None:
    if isinstance(target, ast.Name):
        names[target.id] = _kind_of_value(value, names, outer)
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        for element, given in zip_longest(target.elts, values[: len(target.elts)]):
            _bind_target(element, given or ast.Constant(None), names, outer)


def _kind_of_value(value: ast.expr, names: Mapping[str, object], outer: Mapping[str, object]) -> object:
    """Return the kind of an assigned value: a class made by `_class_of`, _CALLABLE, or _OTHER (never a test)."""
    match value:
        case ast.Lambda():
            return _CALLABLE
        case ast.Name():
            return names.get(value.id, outer.get(value.id, _OTHER))
        # Base.test_x: it is callable, whichever class it is taken from.
        case ast.Attribute(attr=attribute):
            return _CALLABLE if attribute.startswith(_PREFIX) else _OTHER
        # A decorator applied by hand, such as skip("why")(helper); any other call may return data.
        case ast.Call(args=[ast.Name() | ast.Lambda() as wrapped]) if isinstance(value.func, ast.Call):
            return _kind_of_value(wrapped, names, outer)
        case _:
            return _OTHER
