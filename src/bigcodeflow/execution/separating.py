"""The test text of a separated execution: the program in one process, the test in another.

The process of the test executes the task's own solution, for the names that the test uses; what the test then calls
asks the process of the program. A method that replaces parts of modules is not judged so: the program would not notice.
"""

import ast

from bigcodeflow import foreign_text
from bigcodeflow.execution.contradicting import Alteration, AlteredTest
from bigcodeflow.execution.contradicting.syntax import assertions_in, key_of
from bigcodeflow.sandbox.protocol import SEPARATED

_REPLACING = frozenset(
    ["patch", "Mock", "MagicMock", "AsyncMock", "NonCallableMock", "PropertyMock", "create_autospec", "mock_open"]
)
#: Replaced, they take the program's printed text all the same.
_FORWARDED = frozenset({"sys.stdout", "sys.stderr"})


def _undecided(solution: str, test: str, entry_point: str) -> AlteredTest:
    return AlteredTest(f'{solution}\n\n{entry_point} = {SEPARATED}("{entry_point}", {entry_point})\n{test}', ())


@foreign_text.fails_alone(_undecided)
def separated_test(solution: str, test: str, entry_point: str) -> AlteredTest:
    """The text, and the test methods that a correct program passes with it.

    Args:
        solution: a program that solves the task.
        test: the task's test text.
        entry_point: the function that programs define.
    """
    text = _undecided(solution, test, entry_point).text
    try:
        module = foreign_text.parse(test)
    except foreign_text.REFUSALS:
        return AlteredTest(text, ())
    methods = [
        part
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == "TestCases"
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name.startswith("test")
    ]
    own = {id(part) for method in methods for part in ast.walk(method)}
    if any(_replaces(part) for part in ast.walk(module) if id(part) not in own):
        return AlteredTest(text, ())
    names = {method.name for method in methods if _may_check(method) and not any(map(_replaces, ast.walk(method)))}
    return AlteredTest(text, tuple(Alteration(name, 0, "separate", "", "") for name in sorted(names)))


def _may_check(method: ast.FunctionDef) -> bool:
    """Whether a method holds an assertion, or calls a helper that may hold one."""
    calls = (part for part in ast.walk(method) if isinstance(part, ast.Call))
    return bool(assertions_in(method)) or any(key_of(call.func).startswith("self.") for call in calls)


def _replaces(node: ast.AST) -> bool:
    """Whether a node makes or names a double, or assigns to an attribute that is not the test's own."""
    match node:
        case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
            return ast.unparse(value) not in ("self", "cls") and f"{ast.unparse(value)}.{name}" not in _FORWARDED
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in _REPLACING
    return False
