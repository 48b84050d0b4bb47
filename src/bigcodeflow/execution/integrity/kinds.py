"""What type an expression of a test has, as far as its text tells, and how to write another value of that type."""

import ast
import random
from collections.abc import Callable

from bigcodeflow.execution.integrity.literals import Tolerance, evaluated, word
from bigcodeflow.execution.integrity.reading import Scope

_CALLS = {
    "number": "len sum int float count round abs min max index mean median std var timestamp total_seconds stat"
    " factorial sqrt floor ceil nunique",
    "str": "str format join strip lower upper replace read getvalue decode hexdigest capitalize title dumps repr"
    " strftime isoformat dirname basename abspath read_text b64encode"
    " get_title get_xlabel get_ylabel get_text get_label",
    "list": "list sorted split tolist readlines splitlines listdir glob findall",
    "tuple": "tuple",
    "set": "set frozenset",
    "dict": "dict to_dict Counter OrderedDict defaultdict loads load",
    "frame": "DataFrame Series read_csv from_dict concat merge copy head drop sort_values reset_index groupby",
    "array": "array asarray zeros ones arange linspace dot ndarray cumsum reshape",
    "moment": "datetime strptime now today Timestamp date",
    "bytes": "encode",
}
_BY_CALL = {name: kind for kind, names in _CALLS.items() for name in names.split()}
_BY_NODE: dict[type[ast.expr], str] = {
    ast.JoinedStr: "str",
    ast.ListComp: "list",
    ast.List: "list",
    ast.Tuple: "tuple",
    ast.SetComp: "set",
    ast.Set: "set",
    ast.DictComp: "dict",
    ast.Dict: "dict",
    ast.Compare: "bool",
    ast.BoolOp: "bool",
}
_BY_ATTRIBUTE = {"shape": "tuple", "size": "number", "values": "array", "name": "str", "columns": "array"}
_MOST_STEPS = 5


def kind_of(node: ast.expr, scope: Scope, steps: int = _MOST_STEPS) -> str:
    """'number', 'str', 'frame', …; empty where the text does not tell."""
    if type(node) in _BY_NODE:
        return _BY_NODE[type(node)]
    found = evaluated(node)
    if found:
        name = type(found[0]).__name__
        return "number" if name in {"int", "float"} else name
    match node:
        case ast.Call(func=function):
            return _BY_CALL.get(getattr(function, "attr", getattr(function, "id", "")), "")
        case ast.BinOp():
            return _of_operation(node, scope, steps)
        case ast.Attribute(attr=name) if name in _BY_ATTRIBUTE:
            return _BY_ATTRIBUTE[name]
    definition = scope.definition(node)
    return kind_of(definition, scope, steps - 1) if definition is not None and steps else ""


def _of_operation(node: ast.BinOp, scope: Scope, steps: int) -> str:
    if not steps:
        return ""
    left, right = kind_of(node.left, scope, steps - 1), kind_of(node.right, scope, steps - 1)
    if isinstance(node.op, ast.Div) and "str" in {left, right}:
        return "path"
    if isinstance(node.op, ast.Mod) and left == "str":
        return "str"
    others = {left, right} - {"number"}
    return others.pop() if len(others) == 1 else "number" if not others else ""


def other_value(kind: str, text: str, seed: random.Random, tolerance: Tolerance) -> str:
    """An expression for another value than that of ``text``, which is enclosed already."""
    number = seed.randint(1, 9) + round(3 * tolerance.absolute)
    return seed.choice(_FORMS.get(kind, _UNKNOWN))(text, number, seed)


_Form = Callable[[str, int, random.Random], str]
_FORMS: dict[str, tuple[_Form, ...]] = {
    "number": (
        lambda text, number, _: f"{text} + {number}",
        lambda text, number, _: f"{text} - {number}",
    ),
    "bool": (lambda text, _, __: f"not {text}",),
    "str": (
        lambda text, _, seed: f"{text} + {word(seed)[:2]!r}",
        lambda text, _, seed: f"{word(seed)[:2]!r} + {text}",
    ),
    "bytes": (lambda text, _, seed: f"{text} + {word(seed)[:2].encode()!r}",),
    "list": (lambda text, number, _: f"[*{text}, {number}]", lambda text, number, _: f"{text} + [{number}]"),
    "tuple": (lambda text, number, _: f"(*{text}, {number})", lambda text, number, _: f"{text} + ({number},)"),
    "set": (lambda text, _, seed: f"{text} | {{{word(seed)[:3]!r}}}",),
    "dict": (lambda text, number, seed: f"{{**{text}, {word(seed)[:3]!r}: {number}}}",),
    "frame": (
        lambda text, _, seed: f"{text}.add_prefix({word(seed)[:2]!r})",
        lambda text, _, __: f"{text}.iloc[::-1]",
    ),
    "elements": (lambda text, number, _: f"[one + {number} for one in {text}]",),
    "array": (lambda text, number, _: f"{text} + {number}", lambda text, number, _: f"{text} * 2 + {number}"),
    "moment": (lambda text, number, _: f"{text}.replace(year={1980 + number})",),
    "path": (lambda text, _, seed: f"{text} / {word(seed)!r}",),
}
_UNKNOWN: tuple[_Form, ...] = (
    # Twice, as a number of NumPy's is equal to a list that holds it once.
    lambda text, _, __: f"[{text}] * 2",
    lambda text, _, __: f"({text},) * 2",
    lambda text, _, seed: f"str({text}) + {word(seed)[:2]!r}",
)
