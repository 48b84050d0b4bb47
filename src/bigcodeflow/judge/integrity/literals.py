"""Replacements of literals in the same notation: near misses differ slightly in value, far misses widely."""

import ast
import math
import random
import re
import string
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from bigcodeflow.core.source_text import called_name
from bigcodeflow.judge.integrity.syntax import tree_of

_CLASSES = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_DATE = re.compile(r"\d{3}(\d)-\d\d-\d\d")
#: Calls whose arguments are the data of the result: altering an argument alters the value.
_CONSTRUCTORS = frozenset(
    """array asarray DataFrame Series Index Counter OrderedDict datetime date Timestamp to_datetime set list tuple dict
    frozenset deque Decimal Fraction Path PurePath join tensor float int str bytes float64 float32 int64 call
    namedtuple matrix csr_matrix Polygon Point""".split()  # noqa: SIM905 -- as a list it takes a screen
)
_DATA_KEYWORDS = frozenset({"data", "args", "columns", "index", "name"})
_ALL_KEYWORDS = frozenset({"dict", "Counter", "OrderedDict", "datetime", "date", "call"})
_MOST_TRIES = 60
#: Distances of some near misses of integers: a comparison with rounded values accepts smaller distances.
_ROUND_STEPS, _ROUND_SHARE = (10, 25, 50, 100, 1000), 0.25


class Tolerance(NamedTuple):
    """Distance within which two numbers count as equal."""

    absolute: float = 0.0
    relative: float = 0.0

    def around(self, value: float) -> float:
        # Without the condition an integer of a thousand digits would overflow.
        return self.absolute + (self.relative * abs(value) if self.relative else 0.0)


EXACT = Tolerance()


def evaluated(node: ast.expr) -> tuple[Any] | None:
    """Return (value,) of a literal expression; None if the node is no literal expression."""
    with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return (ast.literal_eval(node),)
    return None


def leaves(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the innermost literals of an expected value: constants, f-strings and empty displays such as []."""
    match node:
        case ast.Constant(value=value) if value is not Ellipsis and not isinstance(value, complex):
            yield node
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())) | ast.JoinedStr():
            yield node
        case ast.List(elts=[]) | ast.Tuple(elts=[]) | ast.Dict(keys=[]):
            yield node
        case ast.Call(func=ast.Name(id="set" | "list" | "dict" | "tuple" | "Counter"), args=[], keywords=[]):
            yield node
        case ast.Call():
            yield from _argument_leaves(node)
        case ast.BinOp() if not _decides(node):
            return
        case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.BinOp() | ast.UnaryOp():
            for part in ast.iter_child_nodes(node):
                if isinstance(part, ast.expr) and not isinstance(part, ast.Starred):
                    yield from leaves(part)


def _decides(operation: ast.BinOp) -> bool:
    """Tell if a change of a literal always changes the operation's value: True for ``x + 1``, False for ``x % 10``."""
    match operation:
        case ast.BinOp(op=ast.Add() | ast.Sub()) | ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod()):
            return True
        case ast.BinOp(op=ast.Div(), right=ast.Constant(value=str())):
            return True
    return all(isinstance(part, ast.Constant | ast.BinOp | ast.operator | ast.unaryop) for part in ast.walk(operation))


def _argument_leaves(call: ast.Call) -> Iterator[ast.expr]:
    name = called_name(call)
    if name not in _CONSTRUCTORS:
        return
    keywords = [one.value for one in call.keywords if one.arg in _DATA_KEYWORDS or name in _ALL_KEYWORDS]
    for argument in [*call.args, *keywords]:
        # A key with count zero makes no difference.
        parts = argument.values if isinstance(argument, ast.Dict) and name == "Counter" else [argument]
        for one in (leaf for part in parts for leaf in leaves(part)):
            # For a DataFrame only single values: a filled empty column would not fit the other columns.
            if name != "DataFrame" or isinstance(one, ast.Constant | ast.UnaryOp | ast.JoinedStr):
                yield one


def near_miss(node: ast.expr, segment: str, seed: random.Random, tolerance: Tolerance = EXACT) -> str | None:
    """Return a literal similar to ``node`` (a result of `leaves`) with another value; None if none exists.

    ``segment`` is the source of ``node``. Numbers differ by at least three times the tolerance.
    """
    text: str | None
    match evaluated(node):
        case (bool() as value,):
            text = str(not value)
        case (int() as value,):
            least = 3 * tolerance.around(value)
            is_near = 0 < least < 1 and seed.random() < 0.5  # noqa: PLR2004 -- of two kinds
            text = f"{value + least * seed.uniform(1.1, 2):.9g}" if is_near else None
            if text is None or abs(float(text) - value) < least:  # a large number lacks the digits
                text = str(_near_int(value, seed, least))
        case (float() as value,):
            text = _near_float(value, segment, seed, 3 * tolerance.around(value))
        case (str() | bytes() as value,):
            text = _altered_text(segment, seed) or _longer(value, segment, seed)
        case (None,):
            text = seed.choice(("0", "''"))
        case _:
            text = _altered_text(segment, seed) if isinstance(node, ast.JoinedStr) else _filled(node, seed)
    return text


def are_apart(first: object, second: object, tolerance: Tolerance) -> bool:
    """Tell if two numbers differ by more than three times the tolerance, or two strings or bytes are different."""
    if isinstance(first, int | float) and isinstance(second, int | float):
        return abs(first - second) > 3 * tolerance.around(max(abs(first), abs(second)))
    return type(first) is type(second) and isinstance(first, str | bytes) and first != second


def far_miss(node: ast.expr, segment: str, seed: random.Random) -> str | None:
    """Return a literal like ``node`` with a value that no honest program returns by chance; None if none exists."""
    if isinstance(node, ast.JoinedStr):
        return _longer(None, segment, seed)
    match evaluated(node):
        case (bool() | None,):
            return str(seed.randint(10**8, 10**9))
        case (int() as value,):
            return str(value + seed.choice((-1, 1) if value < 0 else (1,)) * seed.randint(10**8, 10**9))
        case (float() as value,):
            return repr(round(value + seed.randint(10**8, 10**9) + seed.random(), 3))
        case (str() | bytes() as value,):
            return _longer(value, segment, seed)
    return _filled(node, seed)


def beyond(segment: str, seed: random.Random, sign: int, digits: int = 11) -> str:
    """Return a number, as source, above (``sign`` 1) or below (-1) any result; a float if ``segment`` has a '.'."""
    number = sign * seed.randint(10 ** (digits - 1), 10**digits)
    return f"{number}.{seed.randint(1, 9)}" if "." in segment else str(number)


def word(seed: random.Random, length: int = 5) -> str:
    """Return a random word that no text contains by chance."""
    sounds = ("bcdfghjklmnpqrstvwxz", "aeiou")
    return "".join(seed.choice(sounds[index % 2]) for index in range(length)) + seed.choice("qxz")


def _near_int(value: int, seed: random.Random, least: float) -> int:
    rounded = [step for step in _ROUND_STEPS if step <= max(10, abs(value))]
    steps = rounded if seed.random() < _ROUND_SHARE else range(1, 10)
    near = [value + sign * step for step in steps for sign in (1, -1)]
    fitting = [one for one in near if (one >= 0) == (value >= 0) and abs(one - value) >= least]
    if fitting:
        return seed.choice(fitting)
    return value + (-1 if value < 0 else 1) * (math.ceil(least) + seed.randint(1, 9))


def _near_float(value: float, segment: str, seed: random.Random, least: float) -> str | None:
    decimals = max(1, len(segment.partition(".")[2]))
    # At times as near as the assertion can distinguish: a comparison made lenient accepts it as equal. Mostly with as
    # many digits as the value, so that the number of digits tells nothing.
    far = max(least, abs(value) / 2, 1e-300) if value else max(least, 1.0)
    near = max(least, abs(value) * 1e-9, 1e-300, min(10.0**-decimals, abs(value) / 400) if value else 10.0**-decimals)
    same_digits = max(least, seed.randint(1, 3) * 10.0**-decimals)
    shift = seed.choice((near, same_digits, same_digits, far)) * seed.uniform(1.1, 2)
    moved = value - shift if value < 0 else value + shift
    if not math.isfinite(moved):
        return None
    if "e" in segment.lower():
        return f"{moved:.5e}"
    for more in range(20):
        text = f"{moved:.{decimals + more}f}"
        if abs(float(text) - value) >= least and float(text) != value:
            return text
    return repr(moved)


def _altered_text(segment: str, seed: random.Random) -> str | None:
    """Return a string literal with one character changed or two neighbours swapped; None if neither is possible."""
    date, before = _DATE.search(segment), _pieces(segment)
    # Change the year: the date stays valid.
    positions = [date.start(1)] if date else _shuffled_positions(segment, seed)
    ways = (_other_character,) if date else (seed.choice(_WAYS), _other_character)
    for way in ways:
        for position in positions[:_MOST_TRIES]:
            text = way(segment, position, seed)
            after = _pieces(text) if text != segment else None
            if before and after and before[1] == after[1] and _is_slight(before[0], after[0]):
                return text
    return None


def _other_character(segment: str, position: int, seed: random.Random) -> str:
    own = next(one for one in _CLASSES if segment[position] in one)
    other = seed.choice([one for one in own if one != segment[position]])
    return f"{segment[:position]}{other}{segment[position + 1 :]}"


def _other_order(segment: str, position: int, _: random.Random) -> str:
    return f"{segment[:position]}{segment[position : position + 2][::-1]}{segment[position + 2 :]}"


#: Ways to alter a text. No way changes only case or spaces, which the comparison of an honest result may ignore.
_WAYS = (_other_character, _other_character, _other_order)


def _is_slight(before: str, after: str) -> bool:
    """Tell if two texts differ in one character, or in two swapped characters; all must be letters or digits."""
    differing = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    is_swapped = len(differing) == 2 and differing[0] == differing[1][::-1]  # noqa: PLR2004 -- a pair
    is_other = len(differing) == 1 or (is_swapped and before.casefold() != after.casefold())
    return len(before) == len(after) and is_other and all(one.isalnum() for pair in differing for one in pair)


def _shuffled_positions(segment: str, seed: random.Random) -> list[int]:
    positions = [index for index, character in enumerate(segment) if character.isascii() and character.isalnum()]
    seed.shuffle(positions)
    return positions


def _pieces(segment: str) -> tuple[str, str] | None:
    """Return the text of a string literal, and its type or the fields of an f-string; None for other source."""
    tree = tree_of(f"({segment}\n)")
    match tree and tree.body[0]:
        case ast.Expr(value=ast.Constant(value=str() as value)):
            return value, "str"
        case ast.Expr(value=ast.Constant(value=bytes() as content)):
            return content.decode("latin-1"), "bytes"
        case ast.Expr(value=ast.JoinedStr(values=values)):
            texts = [part.value for part in values if isinstance(part, ast.Constant)]
            fields = [ast.dump(part) if isinstance(part, ast.FormattedValue) else "text" for part in values]
            return "\0".join(map(str, texts)), repr(fields)
    return None


def _longer(value: str | bytes | None, segment: str, seed: random.Random) -> str | None:
    """Insert a random word into a string literal, or append it to ``value``; return None if both are impossible."""
    before = _pieces(segment)
    for position in _shuffled_positions(segment, seed)[:_MOST_TRIES]:
        added = word(seed)
        added = added.upper() if segment[position].isupper() else added
        text = f"{segment[: position + 1]}{added}{segment[position + 1 :]}"
        after = _pieces(text)
        if before and after and before[1] == after[1] and len(after[0]) == len(before[0]) + len(added):
            return text
    if value is None:
        return None
    return repr(value + word(seed).encode() if isinstance(value, bytes) else value + word(seed))


def _filled(node: ast.expr, seed: random.Random) -> str | None:
    """Return an empty display or call, such as [] or dict(), with one element added; None for other nodes."""
    number = str(seed.randint(1, 9))
    match node:
        case ast.List():
            return f"[{number}]"
        case ast.Tuple():
            return f"({number},)"
        case ast.Dict():
            return f"{{{word(seed)[:3]!r}: {number}}}"
        case ast.Call(func=ast.Name(id="dict" | "Counter" as name)):
            return f"{name}({word(seed)[:3]}={number})"
        case ast.Call(func=ast.Name(id=name)):
            return f"{name}([{number}])"
    return None
