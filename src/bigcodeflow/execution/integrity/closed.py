"""Which expressions of a test have a value that the test alone computes, whatever the program is."""

import ast
import builtins

from bigcodeflow.execution.integrity.reading import Scope
from bigcodeflow.execution.integrity.syntax import key_of

#: Names that tests use without importing them, as the task's own imports bind them.
_CONVENTIONAL = (
    "np pd math string re json itertools statistics collections Counter OrderedDict defaultdict base64 hashlib"
    " Fraction operator functools textwrap"
)
#: Names and attributes whose value may differ from one execution to the next, or comes from outside the test.
_UNSTABLE_NAMES = (
    "open input id eval exec globals locals vars hash object print dir memoryview iter next compile breakpoint"
    " random rand randn randint choice shuffle sample secrets uuid uuid1 uuid4 time now today utcnow time_ns"
    " perf_counter monotonic urandom getpid environ getcwd getenv tempfile mkdtemp mkstemp TemporaryDirectory"
    " NamedTemporaryFile listdir exists glob walk stat getsize getmtime read_csv read_json read_excel read_text"
    " read_bytes path Path datetime date locale socket requests subprocess Mock MagicMock patch mock plt sys"
    " platform threading __dict__ default_rng RandomState Faker fake getcontext localcontext decimal Decimal format"
    " str repr to_string set_printoptions setlocale strftime isoformat"
)
_UNSTABLE = frozenset(_UNSTABLE_NAMES.split())
_MOST_DEPTH = 12


class Closed:
    """Judges the expressions of one function of a test text."""

    def __init__(self, scope: Scope) -> None:
        self._scope, self._reading = scope, scope.reading
        self._changed = _changed(scope)

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression is built from literals, libraries and functions of the test alone."""
        return self._holds(node, _MOST_DEPTH)

    def _holds(self, node: ast.expr, depth: int) -> bool:
        if not depth or self._scope.depends(node):
            return False
        bound = {
            one.id for part in ast.walk(node) if isinstance(part, ast.comprehension) for one in _names(part.target)
        }
        bound |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        for part in ast.walk(node):
            if isinstance(part, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
                return False
            if isinstance(part, ast.Attribute) and not self._holds_attribute(part, depth):
                return False
        free = (one for one in _names(node) if one.id not in {"self", *bound})
        return all(self._holds_name(one, depth) for one in free)

    def _holds_attribute(self, node: ast.Attribute, depth: int) -> bool:
        if node.attr in _UNSTABLE:
            return False
        key = key_of(node)
        if key in self._reading.scopes:
            return self._is_stable(key)
        return not key or self._holds_variable(node, key, depth)

    def _holds_name(self, node: ast.Name, depth: int) -> bool:
        name = node.id
        if name in _UNSTABLE:
            return False
        if name in self._scope.bindings:
            return self._holds_variable(node, name, depth)
        if name in self._reading.scopes:
            return self._is_stable(name)
        if name in self._reading.constants:
            return self._holds(self._reading.constants[name], depth - 1)
        return name in self._reading.imported or name in _CONVENTIONAL.split() or hasattr(builtins, name)

    def _holds_variable(self, node: ast.expr, key: str, depth: int) -> bool:
        """A variable that is assigned once, from such an expression, and that nothing else could have changed."""
        definition = self._scope.definition(node)
        if definition is None or key in self._changed:
            return False
        return self._holds(definition, depth - 1)

    def _is_stable(self, key: str) -> bool:
        """Whether a helper, with all that it calls, reads nothing but its arguments and the test's constants."""
        parts = [part for one in self._reading.reached_from(key) for part in ast.walk(self._reading.scopes[one].node)]
        names = {getattr(part, "id", getattr(part, "attr", "")) for part in parts}
        attributes = {key_of(part) for part in parts if isinstance(part, ast.Attribute)} - {""}
        return key not in self._reading.tainted and not names & _UNSTABLE and attributes <= set(self._reading.scopes)


def _names(node: ast.AST) -> list[ast.Name]:
    return [part for part in ast.walk(node) if isinstance(part, ast.Name)]


def _changed(scope: Scope) -> set[str]:
    """Names and attributes of self of which a method is called for what it does to them."""
    calls = [part.value for part in _parts(scope) if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)]
    holders = [one.func.value for one in calls if isinstance(one.func, ast.Attribute)]
    return {key_of(part) for one in holders for part in ast.walk(one)} - {"", "self"}


def _parts(scope: Scope) -> list[ast.AST]:
    """Every node of the function and of the fixtures that run before it."""
    nodes = [scope.node, *(one.node for key, one in scope.reading.scopes.items() if key in _FIXTURES)]
    return [part for node in nodes for part in ast.walk(node)]


_FIXTURES = ("self.setUp", "self.setUpClass")
