"""Texts for separated executions, in which program and test have a process each.

The test's process executes the task's own solution, for the names that the test uses; calls of the function go to the
program's process. A test method decides nothing if the two processes may differ for it: if it replaces parts of
modules, changes settings of the interpreter, or reads names that the solution defines.
"""

import ast

from bigcodeflow.core import untrusted_text
from bigcodeflow.judge.failure_kinds import bound_by
from bigcodeflow.judge.guest.protocol import SEPARATED
from bigcodeflow.judge.integrity.altered_tests import Alteration, AlteredTest
from bigcodeflow.judge.integrity.syntax import assertions_in, key_of, test_methods, tree_of

#: Names of test doubles, interpreter settings and attributes of functions, which may differ between the processes.
_APART = frozenset(
    """patch Mock MagicMock AsyncMock NonCallableMock PropertyMock create_autospec mock_open setattr delattr
    localcontext getcontext simplefilter filterwarnings catch_warnings umask tzset lockf flock dup2 redirect_stderr
    reload stderr stdin setrecursionlimit inspect signature __dict__ __globals__ __code__""".split()  # noqa: SIM905 -- as a list it takes a screen
)


def _undecided(solution: str, test: str, entry_point: str, imports: str = "") -> AlteredTest:
    binding = f"{entry_point} = {SEPARATED}({entry_point!r}, {entry_point}, {imports!r})"
    return AlteredTest(f"{solution}\n\n{binding}\n{test}", ())


@untrusted_text.with_fallback(_undecided)
def separated_test(solution: str, test: str, entry_point: str) -> AlteredTest:
    """Return the text for a separated execution, and the test methods that a correct program passes with it."""
    module, own = tree_of(test), tree_of(solution)
    if module is None or own is None:
        return _undecided(solution, test, entry_point)
    imports = [ast.unparse(node) for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    text = _undecided(solution, test, entry_point, "\n".join(imports)).text
    methods = [one for one in test_methods(module) if isinstance(one, ast.FunctionDef)]
    # Names that the solution's top-level statements bind, except by imports.
    defined = bound_by(node for node in own.body if not isinstance(node, ast.Import | ast.ImportFrom))
    defined -= {entry_point} | bound_by(module.body)
    inside = {id(part) for method in methods for part in ast.walk(method)}
    apart = defined | _APART
    if any(_is_apart(part, apart, entry_point) for part in ast.walk(module) if id(part) not in inside):
        return AlteredTest(text, ())
    # Methods with an assertion, or a call of a helper that may hold an assertion, that mean the same in both processes.
    names = set()
    for method in methods:
        nodes = list(ast.walk(method))
        calls_own = any(isinstance(node, ast.Call) and key_of(node.func).startswith("self.") for node in nodes)
        if (assertions_in(nodes) or calls_own) and not any(_is_apart(node, apart, entry_point) for node in nodes):
            names.add(method.name)
    return AlteredTest(text, tuple(Alteration(name, 0, "separate", "", "") for name in sorted(names)))


def _is_apart(node: ast.AST, names: frozenset[str], entry_point: str) -> bool:
    """Tell if a node may have different meanings in the test's process and in the program's process."""
    match node:
        case ast.Name(id=name) | ast.alias(name=name):
            return name in names
        case ast.Attribute(attr=name) if name in _APART or name.startswith(("register_", "set_int_max")):
            return True
        case ast.Attribute(value=value, attr="path"):
            return ast.unparse(value) == "sys"
        case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
            return ast.unparse(value) not in ("self", "cls") and (ast.unparse(value), name) != ("sys", "stdout")
        case (
            ast.Attribute(value=ast.Name(id=name))
            | ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[ast.Name(id=name), *_])
        ):
            return name == entry_point
    return False
