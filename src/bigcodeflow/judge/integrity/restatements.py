"""Rewrite expressions in other forms with the same value, so that all altered methods look alike.

Contradictions and restatements take the same forms. So the text of an altered test differs from the original in every
method, and only a program that knows the right values knows which methods a correct solution passes.
"""

import ast
import math
import random
from collections.abc import Container, Iterator

from bigcodeflow.judge.integrity.literals import evaluated
from bigcodeflow.judge.integrity.operands import Replacement, Source, expression_of
from bigcodeflow.judge.integrity.syntax import Assertion

#: Forms of any expression; the first is for literals too.
_FORMS = ("[{}][0]", "({}, None)[0]", "(None, {})[-1]", "[{}].pop()", "{{0: {}}}[0]")
_MOST_DIGITS = 15


def restated(text: str, seed: random.Random) -> str | None:
    """Return another form of an expression, with the same value and type; None if the text is no expression.

    For example, ``5`` becomes ``(2 + 3)``, ``'abc'`` becomes ``('a' + 'bc')``, and ``f(x)`` ``(f(x), None)[0]``.
    """
    node = expression_of(f"({text}\n)")
    if node is None or isinstance(node, ast.Starred | ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.GeneratorExp):
        return None
    value = evaluated(node)
    form = _literal_form(value[0], seed) if value else None
    return form or seed.choice(_FORMS).format(f"({text})" if isinstance(node, ast.Tuple) else text)


def _literal_form(value: object, seed: random.Random) -> str | None:
    match value:
        case bool():
            return f"(not {not value})"
        case int() if abs(value) < 10**_MOST_DIGITS:
            part = seed.randint(1, max(9, abs(value) // 2))
            return f"({value - part} + {part})"
        case float() if math.isfinite(2 * value):
            return f"({2 * value!r} / 2)"
        case str() | bytes() if len(value) > 1 and "\n" not in repr(value):
            cut = seed.randrange(1, len(value))
            return f"({value[:cut]!r} + {value[cut:]!r})"
    return None


def restatements(
    source: Source, node: Assertion, expressions: Container[tuple[int, int]], seed: random.Random
) -> Iterator[Replacement]:
    """Yield changes of an assertion's operands that keep their values, those of literals first.

    ``expressions`` are the spans (start, end; in bytes) of expressions that can take another form.
    """
    operands = [node.test] if isinstance(node, ast.Assert) else [*node.args, *(one.value for one in node.keywords)]
    parts = [part for one in operands for part in ast.walk(one) if isinstance(part, ast.expr)]
    found = [part for part in parts if source.span(part) in expressions]
    seed.shuffle(found)
    for place in sorted(found, key=lambda one: evaluated(one) is None):
        text = restated(source.segment(place), seed)
        yield from source.change(place, text) if text else ()
