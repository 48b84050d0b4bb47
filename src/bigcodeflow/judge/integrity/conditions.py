"""Contradictions of the conditions in assertTrue, assertFalse and ``assert``."""

import ast
from collections.abc import Callable

from bigcodeflow.core.source_text import called_name
from bigcodeflow.judge.integrity import operands
from bigcodeflow.judge.integrity.literals import Tolerance, evaluated, word
from bigcodeflow.judge.integrity.operands import Replacement, Writer

_RELATIVE = Tolerance(1e-8, 1e-5)
_EXISTENCE = frozenset({"exists", "isfile", "isdir", "is_file", "is_dir", "lexists"})
_PAIRS = (("Eq", "NotEq"), ("Lt", "GtE"), ("Gt", "LtE"), ("Is", "IsNot"), ("In", "NotIn"))
_OPPOSITE = dict(_PAIRS) | {other: one for one, other in _PAIRS}


def contradicted(writer: Writer, node: ast.expr, *, holds: bool = True) -> list[Replacement]:
    """Return changes, best first, such that the changed and the original condition cannot both hold.

    ``holds`` is False if the assertion requires that the condition is false, as assertFalse does.
    """
    return _inside(writer, node, holds=holds, far=False) or writer.negated(node)


def _inside(writer: Writer, node: ast.expr, *, holds: bool, far: bool) -> list[Replacement]:
    """Return changes inside a condition that contradict it; with ``far``, new values differ widely from the old."""
    changes: list[Replacement] = []
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            changes = _inside(writer, inner, holds=not holds, far=far)
        case ast.BoolOp(op=operator, values=values):
            writer.in_place = True
            parts = [_inside(writer, one, holds=holds, far=far) for one in values]
            if isinstance(operator, ast.And) == holds:
                changes = sorted((part[0] for part in parts if part), key=lambda change: change.rank)[:1]
            elif all(parts):
                changes = writer.source.combined(node, [part[0] for part in parts])
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            changes = compared(writer, left, right, operator, holds=holds, far=far)
        case ast.Compare(left=left, ops=operators, comparators=others) if holds:
            changes = compared(writer, others[-2], others[-1], operators[-1], far=True, side="right")
            changes = changes or compared(writer, left, others[0], operators[0], far=True, side="left")
        case ast.Call():
            changes = _of_call(writer, node, holds=holds, far=far)
        case ast.Attribute(value=mock, attr="called") if holds:
            changes = writer.changed(mock, operands.FRESH_MOCK)
    return changes


def compared(
    writer: Writer,
    left: ast.expr,
    right: ast.expr,
    operator: ast.cmpop,
    *,
    holds: bool = True,
    far: bool = False,
    side: str = "",
) -> list[Replacement]:
    """Return changes that contradict a comparison; with ``side`` 'left' or 'right', only this operand is altered."""
    name = type(operator).__name__ if holds else _OPPOSITE[type(operator).__name__]
    value = evaluated(right)
    match name:
        case "Eq":
            changes = writer.unequal(left, right, far=far)
        case "Is" if value and isinstance(value[0], bool):
            changes = writer.source.change(right, str(not value[0]), operands.LITERAL)
        case "Is" if value != (None,):
            changes = writer.source.change(right, f"({writer.source.segment(right)},)", operands.EXPRESSION)
        case "Is" | "NotEq" | "IsNot" if value == (None,):
            changes = writer.changed(left, *(operands.NEVER_NONE if name == "Is" else operands.ALWAYS_NONE))
        case "NotEq" | "IsNot":
            changes = writer.same(left, right)
        case "In" | "NotIn":
            changes = (writer.not_member if name == "In" else writer.member)(left, right)
        case _:
            sign = 1 if name in {"Gt", "GtE"} else -1
            return ordered(writer, left, right, sign=sign, strict=name in {"Gt", "Lt"}, side=side)
    if side:
        start, end = writer.source.span(left if side == "left" else right)
        return [one for one in changes if start <= one.start and one.end <= end]
    return changes


def ordered(
    writer: Writer, left: ast.expr, right: ast.expr, *, sign: int, strict: bool, side: str = ""
) -> list[Replacement]:
    """Return changes that contradict ``left > right`` (``sign`` 1) or ``left < right`` (-1); not ``strict``: >=, <=."""
    depends, source = writer.site.scope.depends, writer.source
    moves_left = side == "left" or (not side and (evaluated(left) is not None or depends(right) > depends(left)))
    changes = writer.beyond(left, right, -sign) if moves_left else writer.beyond(right, left, sign)
    if (changes and changes[0].rank <= operands.OPERAND) or side or not strict:
        return changes
    (start, left_end), (right_start, end) = source.span(left), source.span(right)
    text = f"{source.segment(right)}{source.slice(left_end, right_start)}{source.segment(left)}"
    return source.replace(start, end, text) or changes


def _of_call(writer: Writer, node: ast.Call, *, holds: bool, far: bool) -> list[Replacement]:
    name = called_name(node)
    if name in {"all", "any"}:
        return _of_quantifier(writer, node, name) if holds else []
    if name in _EXISTENCE:
        return _of_existence(writer, node, holds=holds)
    if name == "isinstance" and node.args[1:]:
        return writer.other_type(node.args[1]) if holds else writer.changed(node.args[1], "object")
    if name == "bool" and len(node.args) == 1:
        return _inside(writer, node.args[0], holds=holds, far=far)
    return _HELD[name](writer, node) if holds and name in _HELD else []


def _of_quantifier(writer: Writer, node: ast.Call, name: str) -> list[Replacement]:
    """Return changes that contradict a call of ``all`` or ``any``; if ``all`` has no elements, add a false element."""
    condition = node.args[0] if node.args else getattr(node.func, "value", None)
    if condition is None:
        return []
    writer.in_place, is_any = True, name == "any"
    never = _never(writer, node, name)
    match condition:
        case ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner):
            changes = _inside(writer, inner, holds=True, far=is_any)[:1]
            if changes and not is_any:  # add a false element if there would be no element
                inside = writer.source.altered(changes, condition)[1:-1]  # a bare generator's brackets are the call's
                text = f"[{inside}] or [{writer.seed.choice(('0', 'None', 'False'))}]"
                text = f"({text})" if isinstance(condition, ast.GeneratorExp) else text
                changes = writer.source.change(condition, text)
            return changes or never
        case ast.Compare(ops=[ast.Eq()], comparators=[right]):  # of arrays, element by element
            changes = writer.unequal(condition.left, right, kind="array", far=is_any)
        case _:
            changes = _inside(writer, condition, holds=True, far=is_any)[:1]
    # An alteration of an array of literals leaves most elements unchanged.
    displays = (ast.List, ast.Tuple, ast.Dict)
    has_display = isinstance(condition, ast.Compare) and any(isinstance(one, displays) for one in ast.walk(condition))
    if is_any or has_display:
        return changes or never
    end = writer.source.span(node.func)[1]
    renamed = writer.source.replace(end - len(name), end, "any")
    return writer.source.combined(node, [*changes, *renamed]) if changes else never


def _never(writer: Writer, node: ast.Call, name: str) -> list[Replacement]:
    """Give ``all`` a false element, or ``any`` only false elements, so that the built-in function returns False."""
    if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp | ast.ListComp):
        return []
    given = node.args[0]
    if name == "any":
        return writer.changed(given.elt, "({}) and False")
    text = writer.source.segment(given)  # the call's brackets may be its own
    return writer.changed(given, "([*{}, False])" if text.startswith(("[", "(")) else "([*({}), False])")


def _of_existence(writer: Writer, node: ast.Call, *, holds: bool) -> list[Replacement]:
    if not node.args:  # path.exists()
        if not isinstance(node.func, ast.Attribute):
            return []
        path = node.func.value
        last = word(writer.seed) if holds else "/"
        return writer.source.change(path, f"({writer.enclosed(path)} / {last!r})")
    path, function = node.args[0], ast.unparse(node.func)
    if not holds:
        return [] if "isfile" in function else writer.changed(path, "'.'")
    changes = [] if writer.site.scope.depends(path) else writer.altered(path, far=True)
    if changes:
        return changes
    joined = f"os.path.join({writer.source.segment(path)}, {word(writer.seed)!r})"
    return writer.source.change(path, joined) if "os.path" in function else []


def _of_equal_call(writer: Writer, node: ast.Call) -> list[Replacement]:
    name = called_name(node)
    if name in {"equals", "__eq__"} and isinstance(node.func, ast.Attribute) and node.args:
        return writer.unequal(node.func.value, node.args[0], kind="frame" if name == "equals" else "")
    if not node.args[1:]:
        return []
    kind = "number" if ast.unparse(node.func) == "math.isclose" else "elements"
    return writer.unequal(node.args[0], node.args[1], tolerance=tolerance_of(node, _RELATIVE), kind=kind)


def tolerance_of(call: ast.Call, default: Tolerance) -> Tolerance:
    """Return the tolerance of a call such as numpy.allclose or math.isclose; ``default`` gives missing arguments."""
    given = {one.arg: one.value for one in call.keywords} | dict(zip(("rtol", "atol"), call.args[2:4], strict=False))
    relative = number_of(given.get("rtol", given.get("rel_tol")), default.relative)
    return Tolerance(number_of(given.get("atol", given.get("abs_tol")), default.absolute), relative)


def number_of(node: ast.expr | None, default: float, unknown: float = 1e4) -> float:
    """Return a literal's number; ``default`` for None or a literal of another type, ``unknown`` for no literal."""
    if node is None:
        return default
    found = evaluated(node)
    if found and isinstance(found[0], int | float):
        return float(found[0])
    return default if found else unknown


def _of_affix(writer: Writer, node: ast.Call) -> list[Replacement]:
    """Return changes of the argument of ``startswith`` or ``endswith``, so that no result has this beginning or end."""
    if len(node.args) != 1:
        return []
    affix = node.args[0]
    if isinstance(affix, ast.Tuple):
        return writer.all_far(affix)
    if writer.site.scope.depends(affix):
        return []
    changes = writer.altered(affix, far=True)
    text, added = writer.enclosed(affix), repr(word(writer.seed))
    text = f"{added} + {text}" if called_name(node) == "endswith" else f"{text} + {added}"
    return changes or writer.source.change(affix, text)


def _of_pattern(writer: Writer, node: ast.Call) -> list[Replacement]:
    module = getattr(getattr(node.func, "value", None), "id", "")
    return pattern_contradicted(writer, node.args[0]) if module in {"re", "regex"} and node.args[1:] else []


def pattern_contradicted(writer: Writer, pattern: ast.expr) -> list[Replacement]:
    """Alter a regular expression so that it also requires a word that no result contains."""
    added = word(writer.seed)
    segment = writer.source.segment(pattern)
    text = f"{added!r}"
    match pattern:
        case ast.Constant(value=str() as value) if "|" not in value and segment[-2:-1] != "\\":
            quote = '"""' if segment.endswith('"""') else "'''" if segment.endswith("'''") else segment[-1]
            text = f"{segment[: -len(quote)]}{added}{quote}"
    return writer.source.change(pattern, text)


def _of_subset(writer: Writer, node: ast.Call) -> list[Replacement]:
    if not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
        return []
    small = node.func.value if node.func.attr == "issubset" else node.args[0]
    return [] if writer.site.scope.depends(small) else writer.altered(small, far=True)


_HELD: dict[str, Callable[[Writer, ast.Call], list[Replacement]]] = {
    **dict.fromkeys(("allclose", "isclose", "array_equal", "array_equiv", "equals", "__eq__"), _of_equal_call),
    **dict.fromkeys(("startswith", "endswith"), _of_affix),
    **dict.fromkeys(("match", "search", "fullmatch", "findall"), _of_pattern),
    **dict.fromkeys(("issubset", "issuperset"), _of_subset),
    "hasattr": lambda writer, node: writer.altered(node.args[1], far=True) if len(node.args) > 1 else [],
}
