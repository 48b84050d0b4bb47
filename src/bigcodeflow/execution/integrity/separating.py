"""The test text of a separated execution: the program in one process, the test in another.

The process of the test executes the task's own solution, for the names that the test uses; what the test then calls
asks the process of the program. A method decides nothing where the two might see different things: where it replaces
parts of modules, changes settings of the interpreter, or reads what the solution defines.
"""

import ast
from collections.abc import Iterable

from bigcodeflow.core import untrusted_text
from bigcodeflow.execution.failure_kinds import bound_by
from bigcodeflow.execution.integrity import Alteration, AlteredTest
from bigcodeflow.execution.integrity.syntax import assertions_in, key_of
from bigcodeflow.sandbox.protocol import SEPARATED

_DOUBLES = "patch Mock MagicMock AsyncMock NonCallableMock PropertyMock create_autospec mock_open setattr delattr"
_SETTINGS = (
    "localcontext getcontext simplefilter filterwarnings catch_warnings umask tzset lockf flock dup2 redirect_stderr"
    " reload stderr stdin setrecursionlimit"
)
#: Of modules and of the function: they are not the same in both processes.
_LOOKING = "getattr hasattr inspect signature __dict__ __globals__ __code__"
_APART = frozenset(f"{_DOUBLES} {_SETTINGS} {_LOOKING}".split())


def _undecided(solution: str, test: str, entry_point: str, imports: str = "") -> AlteredTest:
    binding = f"{entry_point} = {SEPARATED}({entry_point!r}, {entry_point}, {imports!r})"
    return AlteredTest(f"{solution}\n\n{binding}\n{test}", ())


@untrusted_text.fails_alone(_undecided)
def separated_test(solution: str, test: str, entry_point: str) -> AlteredTest:
    """The text, and the test methods that a correct program passes with it.

    Args:
        solution: a program that solves the task.
        test: the task's test text.
        entry_point: the function that programs define.
    """
    try:
        module, own = untrusted_text.parse(test), untrusted_text.parse(solution)
    except untrusted_text.REFUSALS:
        return _undecided(solution, test, entry_point)
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    text = _undecided(solution, test, entry_point, "\n".join(map(ast.unparse, imports))).text
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "TestCases"]
    parts = [part for node in classes for part in node.body if isinstance(part, ast.FunctionDef)]
    methods = [part for part in parts if part.name.startswith("test")]
    defined = _defined(own) - {entry_point} - bound_by(module.body)
    inside = {id(part) for method in methods for part in ast.walk(method)}
    if _differs((part for part in ast.walk(module) if id(part) not in inside), defined, entry_point):
        return AlteredTest(text, ())
    names = {one.name for one in methods if _may_check(one) and not _differs(ast.walk(one), defined, entry_point)}
    return AlteredTest(text, tuple(Alteration(name, 0, "separate", "", "") for name in sorted(names)))


def _defined(solution: ast.Module) -> frozenset[str]:
    """Names that the solution's own statements bind otherwise than by an import."""
    return bound_by(node for node in solution.body if not isinstance(node, ast.Import | ast.ImportFrom))


def _may_check(method: ast.FunctionDef) -> bool:
    """Whether a method holds an assertion, or calls a helper that may hold one."""
    calls = (part for part in ast.walk(method) if isinstance(part, ast.Call))
    return bool(assertions_in(method)) or any(key_of(call.func).startswith("self.") for call in calls)


def _differs(nodes: Iterable[ast.AST], defined: frozenset[str], entry_point: str) -> bool:
    """Whether some of the nodes mean one thing in the process of the test and another in the program's."""
    return any(_names(node, defined | _APART) or _reaches(node, entry_point) for node in nodes)


def _names(node: ast.AST, names: frozenset[str]) -> bool:
    match node:
        case ast.Attribute(attr=name):
            return name in _APART or name.startswith(("register_", "set_int_max"))
        case ast.Name(id=name) | ast.alias(name=name):
            return name in names
    return False


def _reaches(node: ast.AST, entry_point: str) -> bool:
    """Whether a node assigns to an attribute that is not the test's own, or takes one of the function's."""
    match node:
        case ast.Attribute(value=value, attr="path"):
            return ast.unparse(value) == "sys"
        case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
            return ast.unparse(value) not in ("self", "cls") and (ast.unparse(value), name) != ("sys", "stdout")
        case ast.Attribute(value=ast.Name(id=name)):
            return name == entry_point
    return False
