"""How test texts are written: names and attributes of self, assertions, and calls that read files."""

import ast
import re
from collections.abc import Iterable

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Assertion = ast.Call | ast.Assert

_WRITING = re.compile(r"[wax][bt+]*")
_OBSERVING_NAMES = (
    "listdir glob iglob rglob iterdir walk scandir exists isfile isdir is_file is_dir stat getsize getmtime read_text"
    " read_bytes read_csv read_json read_excel read_sql imread load_workbook ZipFile namelist getvalue"
    " fetchall fetchone get_fignums gcf gca"
)
_OBSERVING = frozenset(_OBSERVING_NAMES.split())
#: Context managers and calls of which the body is expected to fail.
RAISING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "raises"})
WARNING = frozenset({"assertWarns", "assertWarnsRegex", "assertLogs", "assertNoLogs"})


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


def assertions_in(node: ast.AST) -> list[Assertion]:
    """Every assertion below a node."""
    return assertions_of(ast.walk(node))


def assertions_of(parts: Iterable[ast.AST]) -> list[Assertion]:
    """The assertions among nodes."""
    found = (part for part in parts if isinstance(part, ast.Assert | ast.Call))
    return [part for part in found if isinstance(part, ast.Assert) or is_assertion(part)]


def expects_failure(item: ast.withitem) -> bool:
    """Whether the body under a context manager has to raise."""
    call = item.context_expr
    return isinstance(call, ast.Call) and getattr(call.func, "attr", "") in RAISING


def observes(node: ast.AST) -> bool:
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


def bound_arguments(call: ast.Call, helper: Definition, key: str) -> dict[str, ast.expr]:
    """Parameters of a helper with the arguments that a call gives them."""
    names = [one.arg for one in [*helper.args.posonlyargs, *helper.args.args]]
    static = any(getattr(one, "id", "") == "staticmethod" for one in helper.decorator_list)
    given = dict(zip(names if static or "." not in key else names[1:], call.args, strict=False))
    return given | {one.arg: one.value for one in call.keywords if one.arg}
