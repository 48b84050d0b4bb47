"""Contradictions of the assertions of unittest, mocks, NumPy and pandas."""

import ast
from collections.abc import Callable
from functools import partial

from bigcodeflow.core.source_text import called_name
from bigcodeflow.judge.integrity import conditions
from bigcodeflow.judge.integrity.conditions import number_of, tolerance_of
from bigcodeflow.judge.integrity.literals import EXACT, Tolerance, leaves
from bigcodeflow.judge.integrity.operands import ALWAYS_NONE, FRESH_MOCK, NEGATION, NEVER_NONE, Replacement, Writer

_Maker = Callable[[Writer, ast.Call], list[Replacement]]

#: Exceptions that no task raises. No class can derive from both classes of the first line, since their memory layouts
#: conflict: so no raised exception is an instance of all of them.
_EXCEPTIONS = (
    ("TabError", "UnicodeTranslateError"),
    ("BufferError", "ReferenceError", "FloatingPointError", "StopAsyncIteration"),
)
#: Exceptions that programs do raise, used if another of them is expected, so that a false method looks like a true one.
_COMMON = tuple(
    """ValueError TypeError KeyError IndexError AttributeError FileNotFoundError OSError ZeroDivisionError
    NotImplementedError NameError""".split()  # noqa: SIM905 -- shorter
)
_RELATED = ({"KeyError", "IndexError"}, {"FileNotFoundError", "OSError"})
_SILENT = "(lambda *given, **named: None)"
_PLACES, _DECIMAL, _SIGNIFICANT = 7, 6, 7
_EQUALITIES = {
    "": "assertEqual assertEquals assert_equal",
    "list": "assertListEqual assertCountEqual assertItemsEqual assertSequenceEqual",
    "tuple": "assertTupleEqual",
    "set": "assertSetEqual",
    "dict": "assertDictEqual assertDictContainsSubset",
    "str": "assertMultiLineEqual assert_string_equal",
    "number": "assertAlmostEqual assertAlmostEquals assert_almost_equal assert_approx_equal",
    "array": "assert_array_equal assert_array_almost_equal assert_allclose assert_index_equal",
    "frame": "assert_frame_equal assert_series_equal",
}
_UNORDERED = frozenset({"assertCountEqual", "assertItemsEqual"})
_EQUALITY_KINDS = {name: kind for kind, names in _EQUALITIES.items() for name in names.split()}


def name_of(node: ast.Call | ast.Assert) -> str:
    """Return the assertion's name, such as 'assertEqual'; 'assert' for an assert statement."""
    return "assert" if isinstance(node, ast.Assert) else called_name(node)


def contradictions(writer: Writer) -> list[Replacement]:
    """Return changes of an assertion such that no result satisfies both the changed and the original assertion."""
    node = writer.site.node
    if isinstance(node, ast.Assert):
        return conditions.contradicted(writer, node.test)
    make = _MAKERS.get(name_of(node))
    return make(writer, node) if make and not any(isinstance(one, ast.Starred) for one in node.args) else []


def compared_operands(node: ast.Call | ast.Assert) -> tuple[ast.expr, ast.expr] | None:
    """Return the two operands that an assertion compares for equality; None for other assertions."""
    operands = [node.test] if isinstance(node, ast.Assert) else node.args
    if name_of(node) in _EQUALITY_KINDS and operands[1:]:
        return operands[0], operands[1]
    if name_of(node) in {"assert", "assertTrue"} and operands:
        match operands[0]:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return left, right
    return None


def _pair(make: Callable[[Writer, ast.expr, ast.expr], list[Replacement]]) -> _Maker:
    return lambda writer, call: make(writer, *call.args[:2]) if len(call.args) > 1 else []


def _one(make: Callable[[Writer, ast.expr], list[Replacement]]) -> _Maker:
    return lambda writer, call: make(writer, call.args[0]) if call.args else []


def _equal(writer: Writer, call: ast.Call) -> list[Replacement]:
    name = name_of(call)
    kind = _EQUALITY_KINDS[name]
    writer.is_ordered = name not in _UNORDERED
    return writer.unequal(*call.args[:2], tolerance=_tolerance(call, name), kind=kind) if call.args[1:] else []


def _tolerance(call: ast.Call, name: str) -> Tolerance:
    given: dict[object, ast.expr] = {one.arg: one.value for one in call.keywords} | dict(enumerate(call.args))
    if name.startswith("assertAlmost"):
        places = number_of(given.get("places", given.get(2)), _PLACES, 0)
        return Tolerance(number_of(given.get("delta", given.get(4)), 0.5 * 10**-places))
    if name in {"assert_almost_equal", "assert_array_almost_equal"}:
        return Tolerance(1.5 * 10 ** -number_of(given.get("decimal", given.get(2)), _DECIMAL, 0))
    if name == "assert_approx_equal":
        return Tolerance(0, 2 * 10 ** (1 - number_of(given.get("significant", given.get(2)), _SIGNIFICANT, 1)))
    if name == "assert_allclose":
        return tolerance_of(call, Tolerance(0, 1e-7))
    if name in {"assert_frame_equal", "assert_series_equal", "assert_index_equal"}:
        return tolerance_of(ast.Call(call.func, [], call.keywords), Tolerance(1e-3, 1e-3))
    return EXACT


def _nothing_raised(writer: Writer, call: ast.Call) -> list[Replacement]:
    """Replace the function that must raise by a function that does nothing: the assertion fails unless it is forged."""
    if len(call.args) > 1:
        return writer.changed(call.args[1], _SILENT)
    blocks = (part for part in ast.walk(writer.site.scope.node) if isinstance(part, ast.With | ast.AsyncWith))
    for block in blocks:
        if not any(item.context_expr is call for item in block.items) or len(block.body) != 1:
            continue
        calls = [part for part in ast.walk(block.body[0]) if isinstance(part, ast.Call)]
        programs = [one for one in calls if isinstance(one.func, ast.Name) and writer.site.scope.depends(one.func)]
        if len(programs) == 1:
            return writer.changed(programs[0].func, _SILENT)
    return []


def _other_exception(writer: Writer, call: ast.Call) -> list[Replacement]:
    expected = call.args[0] if call.args else next((one.value for one in call.keywords), None)
    if expected is None:
        return []
    named = ast.unparse(expected)
    related = next((group for group in _RELATED if named in group), {named})
    kinds = [one for one in _COMMON if one not in related] if named in _COMMON else writer.seed.choice(_EXCEPTIONS)
    others = [one for one in kinds if one not in named]
    # Who does not know which kind is right may raise an exception of each kind that the task names.
    others = [one for one in others if one in writer.site.scope.parsed.raised] or others
    if not others or not isinstance(expected, ast.Tuple):
        return writer.source.change(expected, writer.seed.choice(others or ["BytesWarning"]))
    chosen = writer.seed.sample(others, min(len(others), max(1, len(expected.elts))))
    return writer.source.change(expected, f"({', '.join(chosen)},)")


def _other_log(writer: Writer, call: ast.Call) -> list[Replacement]:
    given = {one.arg: one.value for one in call.keywords}
    level = given.get("level", call.args[1] if len(call.args) > 1 else None)
    if level is not None:
        return writer.changed(level, str(writer.seed.randint(80, 99)))
    return writer.altered(call.args[0], far=True) if call.args else []


def _other_arguments(writer: Writer, call: ast.Call) -> list[Replacement]:
    """Change or add an argument in the call that the mock must have received."""
    arguments = [*call.args, *(one.value for one in call.keywords if name_of(call) != "assert_has_calls")]
    held = [one for one in arguments if not writer.site.scope.depends(one) and any(True for _ in leaves(one))]
    if held:
        is_any = name_of(call) in {"assert_any_call", "assert_has_calls", "assert_any_await"}
        return writer.altered(writer.seed.choice(held), far=is_any)
    if name_of(call) == "assert_has_calls" and call.args:
        return writer.source.change(call.args[0], f"[*{writer.enclosed(call.args[0])}, (({len(held) + 7},),)]")
    start, end = writer.source.span(call.func)[1], writer.source.span(call)[1]
    given = writer.source.slice(start, end)
    inside = given.partition("(")[2]
    added = writer.seed.randint(1, 99)
    text = f"({added}, {inside.lstrip(' ')}" if inside.strip() != ")" else f"({added})"
    return writer.source.replace(start, end, text)


def _never_called(writer: Writer, call: ast.Call) -> list[Replacement]:
    if not isinstance(call.func, ast.Attribute):
        return []
    if writer.seed.randrange(2):
        return writer.changed(call.func.value, FRESH_MOCK)
    return _renamed(writer, call.func, "assert_not_called" if "await" not in call.func.attr else "assert_not_awaited")


def _renamed(writer: Writer, function: ast.expr, name: str) -> list[Replacement]:
    end = writer.source.span(function)[1]
    return writer.source.replace(end - len(getattr(function, "attr", "")), end, name)


def _raises_regex(writer: Writer, call: ast.Call) -> list[Replacement]:
    by_pattern = writer.seed.randrange(2) and len(call.args) > 1
    pattern = conditions.pattern_contradicted(writer, call.args[1]) if by_pattern else []
    return pattern or _other_exception(writer, call)


def _different(writer: Writer, call: ast.Call) -> list[Replacement]:
    renamed = _renamed(writer, call.func, name_of(call).replace("Not", ""))
    return _pair(partial(conditions.compared, operator=ast.NotEq()))(writer, call) or [
        change._replace(rank=NEGATION) for change in renamed
    ]


_BY_NAMES: dict[str, _Maker] = {
    "assertTrue assert_": _one(conditions.contradicted),
    "assertFalse": _one(partial(conditions.contradicted, holds=False)),
    "assertIn": _pair(partial(conditions.compared, operator=ast.In())),
    "assertNotIn": _pair(partial(conditions.compared, operator=ast.NotIn())),
    "assertIs": _pair(partial(conditions.compared, operator=ast.Is())),
    "assertIsNot": _pair(partial(conditions.compared, operator=ast.IsNot())),
    "assertNotEqual assertNotEquals": _different,
    "assertNotAlmostEqual": _pair(partial(conditions.compared, operator=ast.NotEq())),
    "assertGreater": _pair(partial(conditions.ordered, sign=1, strict=True)),
    "assertGreaterEqual": _pair(partial(conditions.ordered, sign=1, strict=False)),
    "assertLess": _pair(partial(conditions.ordered, sign=-1, strict=True)),
    "assertLessEqual assert_array_less": _pair(partial(conditions.ordered, sign=-1, strict=False)),
    "assertIsNone": _one(lambda writer, given: writer.changed(given, *NEVER_NONE)),
    "assertIsNotNone": _one(lambda writer, given: writer.changed(given, *ALWAYS_NONE)),
    "assertIsInstance": _pair(lambda writer, _, expected: writer.other_type(expected)),
    "assertNotIsInstance": _pair(lambda writer, _, given: writer.changed(given, "object")),
    "assertRegex assertRegexpMatches": _pair(lambda writer, _, given: conditions.pattern_contradicted(writer, given)),
    "assertNotRegex": _pair(lambda writer, _, given: writer.changed(given, "'^'")),
    "assertRaises raises": lambda writer, call: [*_other_exception(writer, call), *_nothing_raised(writer, call)],
    "assertRaisesRegex assertRaisesRegexp": _raises_regex,
    "assertWarns assertWarnsRegex": _one(lambda writer, given: writer.changed(given, "BytesWarning")),
    "assertLogs": _other_log,
    "assert_called_with assert_called_once_with assert_any_call assert_has_calls": _other_arguments,
    "assert_awaited_with assert_awaited_once_with assert_any_await": _other_arguments,
    "assert_called assert_called_once assert_awaited assert_awaited_once": _never_called,
    "assert_not_called assert_not_awaited": lambda writer, call: _renamed(
        writer, call.func, name_of(call).replace("not_", "")
    ),
}
_MAKERS = dict.fromkeys(_EQUALITY_KINDS, _equal) | {
    name: make for names, make in _BY_NAMES.items() for name in names.split()
}
