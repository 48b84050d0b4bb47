"""Contradictions of a condition, as assertTrue, assertFalse and ``assert`` have them."""

import ast
from collections.abc import Callable

from bigcodeflow.execution.integrity import literals
from bigcodeflow.execution.integrity.literals import Tolerance, evaluated
from bigcodeflow.execution.integrity.operands import EXPRESSION, LITERAL, OPERAND, Writer
from bigcodeflow.execution.integrity.syntax import Replacement, called_name

_RELATIVE = Tolerance(1e-8, 1e-5)
_EXISTENCE = frozenset({"exists", "isfile", "isdir", "is_file", "is_dir", "lexists"})
_PATTERNS = frozenset({"match", "search", "fullmatch", "findall"})


def contradicted(writer: Writer, node: ast.expr, *, holds: bool = True, far: bool = False) -> list[Replacement]:
    """Changes after which a condition cannot hold together with what it was; the best first.

    Args:
        far: whether near misses are too near, as one element of many has to meet it.
    """
    changes = _inside(writer, node, holds=holds, far=far)
    return changes or writer.negated(node)


def _inside(writer: Writer, node: ast.expr, *, holds: bool, far: bool) -> list[Replacement]:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _inside(writer, inner, holds=not holds, far=far)
        case ast.BoolOp():
            return _of_several(writer, node, holds=holds, far=far)
        case ast.Compare():
            return _of_comparison(writer, node, holds=holds, far=far)
        case ast.Call():
            return _of_call(writer, node, holds=holds, far=far)
        case ast.Attribute(value=mock, attr="called") if holds:
            return writer.never_called(mock)
    return []


def _of_several(writer: Writer, node: ast.BoolOp, *, holds: bool, far: bool) -> list[Replacement]:
    writer.in_place = True
    parts = [_inside(writer, one, holds=holds, far=far) for one in node.values]
    if isinstance(node.op, ast.And) == holds:
        return sorted((one for part in parts for one in part[:1]), key=lambda change: change.rank)[:1]
    if not all(parts):
        return []
    return writer.source.combined(node, [part[0] for part in parts])


def _of_comparison(writer: Writer, node: ast.Compare, *, holds: bool, far: bool) -> list[Replacement]:
    operands = [node.left, *node.comparators]
    if len(node.ops) == 1:
        return compared(writer, node.left, node.ops[0], node.comparators[0], holds=holds, far=far)
    if not holds:
        return []
    last = compared(writer, operands[-2], node.ops[-1], operands[-1], holds=True, far=True, side="right")
    return last or compared(writer, operands[0], node.ops[0], operands[1], holds=True, far=True, side="left")


def compared(
    writer: Writer,
    left: ast.expr,
    operator: ast.cmpop,
    right: ast.expr,
    *,
    holds: bool,
    far: bool = False,
    side: str = "",
) -> list[Replacement]:
    """Contradictions of one comparison; ``side`` names the only operand that may be altered."""
    name = type(operator).__name__ if holds else _OPPOSITE[type(operator).__name__]
    if name in {"Eq", "Is"}:
        changes = _of_equality(writer, left, right, far=far, identical=name == "Is")
    elif name in {"NotEq", "IsNot"}:
        is_none = evaluated(right) == (None,)
        changes = something_contradicted(writer, left) if is_none else writer.same(left, right)
    elif name in {"In", "NotIn"}:
        changes = (writer.not_member if name == "In" else writer.member)(left, right)
    else:
        return ordered(
            writer, left, right, sign=1 if name in {"Gt", "GtE"} else -1, strict=name in {"Gt", "Lt"}, side=side
        )
    wanted = {"left": left, "right": right}.get(side)
    if wanted is None:
        return changes
    start, end = writer.source.span(wanted)
    return [one for one in changes if start <= one.start and one.end <= end]


_PAIRS = (("Eq", "NotEq"), ("Lt", "GtE"), ("Gt", "LtE"), ("Is", "IsNot"), ("In", "NotIn"))
_OPPOSITE = dict(_PAIRS) | {other: one for one, other in _PAIRS}


def _of_equality(writer: Writer, left: ast.expr, right: ast.expr, *, far: bool, identical: bool) -> list[Replacement]:
    if not identical:
        return writer.unequal(left, right, far=far)
    if evaluated(right) == (None,):
        return none_contradicted(writer, left)
    value = evaluated(right)
    if value and isinstance(value[0], bool):
        return writer.source.change(right, str(not value[0]), LITERAL)
    return writer.source.change(right, f"({writer.source.segment(right)},)", EXPRESSION)


def none_contradicted(writer: Writer, node: ast.expr) -> list[Replacement]:
    """Something that is never None, in the place of what has to be."""
    form = writer.seed.choice(("({},)", "[{}]"))
    return writer.source.change(node, form.format(writer.source.segment(node)), OPERAND)


def something_contradicted(writer: Writer, node: ast.expr) -> list[Replacement]:
    """None, in the place of what must not be."""
    form = writer.seed.choice(("({}, None)[1]", "[{}, None][-1]"))
    return writer.source.change(node, form.format(writer.source.segment(node)), OPERAND)


def ordered(
    writer: Writer, left: ast.expr, right: ast.expr, *, sign: int, strict: bool, side: str = ""
) -> list[Replacement]:
    """Contradictions of ``left > right`` (sign 1) or ``left < right`` (sign -1)."""
    depends = writer.site.scope.depends
    moves_left = side == "left" or (not side and (evaluated(left) is not None or depends(right) > depends(left)))
    changes = writer.beyond(left, right, -sign) if moves_left else writer.beyond(right, left, sign)
    if (changes and changes[0].rank <= OPERAND) or side or not strict:
        return changes
    text = writer.source.segment
    (start, left_end), (right_start, end) = writer.source.span(left), writer.source.span(right)
    between = writer.source.slice(left_end, right_start)
    return writer.source.replace(start, end, f"{text(right)}{between}{text(left)}", OPERAND) or changes


def _of_call(writer: Writer, node: ast.Call, *, holds: bool, far: bool) -> list[Replacement]:
    name = called_name(node)
    if name in {"all", "any"}:
        return _of_quantifier(writer, node, name, holds=holds)
    if name in _EXISTENCE:
        return _of_existence(writer, node, holds=holds)
    if name == "isinstance" and node.args[1:]:
        return writer.other_type(node.args[1]) if holds else writer.source.change(node.args[1], "object", OPERAND)
    if name == "bool" and len(node.args) == 1:
        return _inside(writer, node.args[0], holds=holds, far=far)
    if not holds:
        return []
    return _HELD[name](writer, node) if name in _HELD else []


def _of_quantifier(writer: Writer, node: ast.Call, name: str, *, holds: bool) -> list[Replacement]:
    """The condition of each element is altered, and ``all`` of nothing made false: it would satisfy both."""
    condition = node.args[0] if node.args else getattr(node.func, "value", None)
    if condition is None or not holds:
        return []
    writer.in_place = True
    never = _never(writer, node, name)
    match condition:
        case ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner):
            changes = _inside(writer, inner, holds=True, far=name == "any")[:1]
            changes = changes if name == "any" or not changes else _of_some(writer, condition, changes)
            return changes or never
        case ast.Compare(ops=[ast.Eq()], comparators=[right]):  # of arrays, element by element
            changes = writer.unequal(condition.left, right, kind="array", far=name == "any")
        case _:
            changes = _inside(writer, condition, holds=True, far=name == "any")[:1]
    if name == "any" or (isinstance(condition, ast.Compare) and _holds_several(condition)):
        return changes or never
    end = writer.source.span(node.func)[1]
    renamed = writer.source.replace(end - len(name), end, "any", OPERAND)
    return writer.source.combined(node, [*changes, *renamed]) if changes else never


def _never(writer: Writer, node: ast.Call, name: str) -> list[Replacement]:
    """``all`` with one that does not hold, ``any`` with none that does: only a replaced function says otherwise."""
    if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
        return []
    given = node.args[0]
    text = writer.source.segment(given)
    if name == "all":
        inner = text if text.startswith(("[", "(")) else f"({text})"
        return writer.source.change(given, f"([*{inner}, False])", OPERAND)  # the call's brackets may be the segment's
    return writer.source.change(given.elt, f"({writer.source.segment(given.elt)}) and False", OPERAND)


def _of_some(writer: Writer, elements: ast.expr, changes: list[Replacement]) -> list[Replacement]:
    """The elements with a change inside, and one that is false where there would be none."""
    inside = writer.source.with_changes(elements, changes)[1:-1]  # of brackets: a bare generator's are the call's own
    text = f"[{inside}] or [{writer.seed.choice(('0', 'None', 'False'))}]"
    return writer.source.change(elements, f"({text})" if isinstance(elements, ast.GeneratorExp) else text, OPERAND)


def _holds_several(condition: ast.Compare) -> bool:
    """Whether an operand is an array of literals, of which an alteration leaves most as they are."""
    parts = [part for one in [condition.left, *condition.comparators] for part in ast.walk(one)]
    return any(isinstance(part, ast.List | ast.Tuple | ast.Dict) for part in parts)


def _of_existence(writer: Writer, node: ast.Call, *, holds: bool) -> list[Replacement]:
    if not node.args:  # path.exists()
        if not isinstance(node.func, ast.Attribute):
            return []
        path = node.func.value
        last = literals.word(writer.seed) if holds else "/"
        return writer.source.change(path, f"({writer.enclosed(path)} / {last!r})", OPERAND)
    path = node.args[0]
    if not holds:
        return [] if "isfile" in ast.unparse(node.func) else writer.source.change(path, "'.'", OPERAND)
    changes = [] if writer.site.scope.depends(path) else writer.altered(path, far=True)
    if changes:
        return changes
    joined = f"os.path.join({writer.source.segment(path)}, {literals.word(writer.seed)!r})"
    return writer.source.change(path, joined, OPERAND) if "os.path" in ast.unparse(node.func) else []


def _of_equal_call(writer: Writer, node: ast.Call) -> list[Replacement]:
    name = called_name(node)
    if name in {"equals", "__eq__"} and isinstance(node.func, ast.Attribute) and node.args:
        return writer.unequal(node.func.value, node.args[0], kind="frame" if name == "equals" else "")
    if not node.args[1:]:
        return []
    kind = "number" if ast.unparse(node.func) == "math.isclose" else "elements"
    return writer.unequal(node.args[0], node.args[1], tolerance=tolerance_of(node, _RELATIVE), kind=kind)


def tolerance_of(call: ast.Call, default: Tolerance) -> Tolerance:
    """What a call of the allclose family takes for equal."""
    given = {one.arg: one.value for one in call.keywords} | dict(zip(("rtol", "atol"), call.args[2:4], strict=False))
    relative = number_of(given.get("rtol", given.get("rel_tol")), default.relative)
    return Tolerance(number_of(given.get("atol", given.get("abs_tol")), default.absolute), relative)


def number_of(node: ast.expr | None, default: float, unknown: float = 1e4) -> float:
    """The number that a literal is; ``unknown`` for any other expression."""
    if node is None:
        return default
    found = evaluated(node)
    if found and isinstance(found[0], int | float):
        return float(found[0])
    return default if found else unknown


def _of_affix(writer: Writer, node: ast.Call) -> list[Replacement]:
    """``startswith`` and its like with a literal, or several in a tuple."""
    if len(node.args) != 1:
        return []
    if isinstance(node.args[0], ast.Tuple):
        return writer.all_far(node.args[0])
    if writer.site.scope.depends(node.args[0]):
        return []
    changes = writer.altered(node.args[0], far=True)
    text, added = writer.enclosed(node.args[0]), repr(literals.word(writer.seed))
    text = f"{added} + {text}" if called_name(node) == "endswith" else f"{text} + {added}"
    return changes or writer.source.change(node.args[0], text, OPERAND)


def _of_pattern(writer: Writer, node: ast.Call) -> list[Replacement]:
    module = getattr(getattr(node.func, "value", None), "id", "")
    return pattern_contradicted(writer, node.args[0]) if module in {"re", "regex"} and node.args[1:] else []


def pattern_contradicted(writer: Writer, pattern: ast.expr) -> list[Replacement]:
    """A pattern that asks for a word as well, which no result holds."""
    added = literals.word(writer.seed)
    segment = writer.source.segment(pattern)
    match pattern:
        case ast.Constant(value=str() as value) if "|" not in value and segment[-2:-1] != "\\":
            quote = '"""' if segment.endswith('"""') else "'''" if segment.endswith("'''") else segment[-1]
            return writer.source.change(pattern, f"{segment[: -len(quote)]}{added}{quote}", OPERAND)
    return writer.source.change(pattern, f"{added!r}", OPERAND)


def _of_subset(writer: Writer, node: ast.Call) -> list[Replacement]:
    if not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return []
    small = node.func.value if node.func.attr == "issubset" else node.args[0]
    return [] if writer.site.scope.depends(small) else writer.altered(small, far=True)


_HELD: dict[str, Callable[[Writer, ast.Call], list[Replacement]]] = {
    **dict.fromkeys(("allclose", "isclose", "array_equal", "array_equiv", "equals", "__eq__"), _of_equal_call),
    **dict.fromkeys(("startswith", "endswith"), _of_affix),
    **dict.fromkeys(_PATTERNS, _of_pattern),
    **dict.fromkeys(("issubset", "issuperset"), _of_subset),
    "hasattr": lambda writer, node: writer.altered(node.args[1], far=True) if len(node.args) > 1 else [],
}
