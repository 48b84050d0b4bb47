"""Alteration of an assertion's operands, so that no result satisfies both the original and the altered assertion."""

import ast
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bigcodeflow.core.source_text import SourceText, called_name
from bigcodeflow.judge.integrity import literals
from bigcodeflow.judge.integrity.literals import EXACT, Tolerance, evaluated, leaves, word
from bigcodeflow.judge.integrity.syntax import Scope, Site, pin_id, tree_of

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
    **dict.fromkeys((ast.List, ast.ListComp), "list"),
    **dict.fromkeys((ast.Set, ast.SetComp), "set"),
    **dict.fromkeys((ast.Dict, ast.DictComp), "dict"),
    **dict.fromkeys((ast.Compare, ast.BoolOp), "bool"),
    ast.Tuple: "tuple",
    ast.JoinedStr: "str",
}
_BY_ATTRIBUTE = {"shape": "tuple", "size": "number", "values": "array", "name": "str", "columns": "array"}
_MOST_STEPS = 5


#: Ranks of changes: a literal, another operand of known type, an expression of unknown type, a negation.
LITERAL, OPERAND, EXPRESSION, NEGATION = range(4)


class Replacement(NamedTuple):
    """Replacement of the bytes from ``start`` to ``end``; a program notices a change of lower ``rank`` less easily."""

    start: int
    end: int
    text: str
    rank: int


class Source(SourceText):
    """Text of a test; its methods make replacements that keep the number of lines."""

    def change(self, node: ast.expr, text: str, rank: int = OPERAND) -> list[Replacement]:
        """Return the replacement of a node by ``text``; [] if ``text`` is the node's source or has more lines."""
        return self.replace(*self.span(node), text, rank)

    def replace(self, start: int, end: int, text: str, rank: int = OPERAND) -> list[Replacement]:
        """Return the replacement of a byte span, with as many lines as the span; [] in the same cases as `change`."""
        missing = self.content.count(b"\n", start, end) - text.count("\n")
        if missing < 0 or text == self.slice(start, end):
            return []
        lines = "\n" * missing
        return [Replacement(start, end, f"({text}{lines})" if missing else text, rank)]

    def combined(self, node: ast.expr, changes: Sequence[Replacement]) -> list[Replacement]:
        """Combine several changes inside a node into one change of the node."""
        return self.change(node, self.altered(changes, node), max(change.rank for change in changes))

    def altered(self, changes: Iterable[Replacement], node: ast.expr | None = None) -> str:
        """Return the text of a node, or the whole text, with non-overlapping changes applied."""
        start, end = self.span(node) if node else (0, len(self.content))
        parts = []
        for change in sorted(changes):
            parts += [self.slice(start, change.start), change.text]
            start = change.end
        return "".join([*parts, self.slice(start, end)])


def kind_of(node: ast.expr, scope: Scope, steps: int = _MOST_STEPS) -> str:
    """Guess the kind of an expression's value: 'number', 'str', 'frame', …; empty if the kind is unknown."""
    found, kind = evaluated(node), _BY_NODE.get(type(node), "")
    if found and not kind:
        name = type(found[0]).__name__
        return "number" if name in {"int", "float"} else name
    match node:
        case ast.Call():
            kind = _BY_CALL.get(called_name(node), "")
        case ast.Attribute(attr=name) if name in _BY_ATTRIBUTE:
            kind = _BY_ATTRIBUTE[name]
        case ast.BinOp(left=first, right=second, op=operator) if steps:
            left, right = kind_of(first, scope, steps - 1), kind_of(second, scope, steps - 1)
            others = {left, right} - {"number"}
            kind = others.pop() if len(others) == 1 else "" if others else "number"
            if isinstance(operator, ast.Div) and "str" in {left, right}:
                kind = "path"
            elif isinstance(operator, ast.Mod) and left == "str":
                kind = "str"
        case ast.Name() | ast.Attribute() if steps:
            definition = scope.definition(node)
            kind = kind_of(definition, scope, steps - 1) if definition is not None else ""
    return kind


#: Forms of another value than {text}, by kind; {w2}, {w3} and {word} come from a word that no text has by chance.
_FORMS = {
    "number": ("{text} + {number}", "{text} - {number}"),
    "bool": ("not {text}",),
    "str": ("{text} + {w2!r}", "{w2!r} + {text}"),
    "bytes": ("{text} + b{w2!r}",),
    "list": ("[*{text}, {number}]", "{text} + [{number}]"),
    "tuple": ("(*{text}, {number})", "{text} + ({number},)"),
    "set": ("{text} | {{{w3!r}}}",),
    "dict": ("{{**{text}, {w3!r}: {number}}}",),
    "frame": ("{text}.add_prefix({w2!r})", "{text}.iloc[::-1]"),
    "elements": ("[one + {number} for one in {text}]",),
    "array": ("{text} + {number}", "{text} * 2 + {number}"),
    "moment": ("{text}.replace(year={year})",),
    "path": ("{text} / {word!r}",),
}
#: Lists and tuples repeat the value, as a NumPy number equals a list that holds it once.
_UNKNOWN = ("[{text}] * 2", "({text},) * 2", "str({text}) + {w2!r}")


def other_value(kind: str, text: str, seed: random.Random, tolerance: Tolerance) -> str:
    """Return an expression with another value than ``text``, an expression of this ``kind``, bracketed if needed."""
    number = seed.randint(1, 9) + round(3 * tolerance.absolute)
    form = seed.choice(_FORMS.get(kind, _UNKNOWN))
    added = word(seed) if "{w" in form else ""
    return form.format(text=text, number=number, year=1980 + number, word=added, w2=added[:2], w3=added[:3])


#: Forms of a value that is never None, of a value that is always None, and of a new mock of the same class.
NEVER_NONE, ALWAYS_NONE, FRESH_MOCK = ("({},)", "[{}]"), ("({}, None)[1]", "[{}, None][-1]"), "type({})()"
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict, ast.Set)
_MOST_LEAVES = 12
#: Share of the contradictions of lists and tuples that swap two elements.
_SWAP_SHARE = 0.25
#: Digits of a number that no length reaches, and of a number that no other result reaches.
_COUNT_DIGITS, _DIGITS = 8, 11


class Writer:
    """Writer that makes the changes of one assertion in a test text."""

    def __init__(self, source: Source, site: Site, seed: random.Random, pins: Mapping[str, str]) -> None:
        self.source, self.site, self.seed, self._pins = source, site, seed, pins
        self.in_place = False  # True: alter only the assertion itself, not the assignments of its names
        self.is_ordered = True  # False: the assertion ignores the order of elements

    def enclosed(self, node: ast.expr) -> str:
        """Return the source of a node, in brackets if a following operator would split it."""
        text = self.source.segment(node)
        is_whole = isinstance(node, _ATOMS) and not (isinstance(node, ast.Tuple) and not text.startswith("("))
        return text if is_whole else f"({text})"

    def unequal(
        self, first: ast.expr, second: ast.expr, *, tolerance: Tolerance = EXACT, kind: str = "", far: bool = False
    ) -> list[Replacement]:
        """Return changes of the expected operand of an equality, so that no right result is equal to this operand."""
        expected = self._expected(first, second)
        place = self.place_of(expected)
        changes = self._near_pin(expected, place, tolerance)
        if not changes and not self.site.scope.depends(expected):
            changes = self.altered(expected, tolerance=tolerance, far=far)
            changes = changes or self._at_definition(expected, tolerance=tolerance, far=far)
        if changes or far:
            return changes
        kind = kind_of(second if expected is first else first, self.site.scope) or kind
        known = kind_of(expected, self.site.scope) or kind
        if kind == "elements":  # keep the length: comparing arrays of other lengths is an error
            known = "elements" if known == "list" else "array"
        text = other_value(known, self.enclosed(place), self.seed, tolerance)
        return self.source.change(place, text, OPERAND if known else EXPRESSION)

    def place_of(self, node: ast.expr) -> ast.expr:
        """Return the expression to alter: the operand ``node``, or the definition of a name that only assertions read.

        If the definition were not altered, a program could read the right value from the test's variables.
        """
        scope = self.site.scope
        if (
            self.in_place
            or not isinstance(node, ast.Name)
            or node.id in self.site.bound
            or node.id not in scope.compared
        ):
            return node
        definition = scope.definition(node)
        return node if definition is None or scope.depends(definition) else definition

    def _expected(self, first: ast.expr, second: ast.expr) -> ast.expr:
        """Choose the expected operand: a literal, or else the operand that does not depend on the program."""
        depends = self.site.scope.depends
        literal = [one for one in (second, first) if evaluated(one) is not None]
        literal = literal or [one for one in (second, first) if any(leaves(one)) and not depends(one)]
        return literal[0] if literal else first if depends(second) and not depends(first) else second

    def altered(self, node: ast.expr, *, tolerance: Tolerance = EXACT, far: bool = False) -> list[Replacement]:
        """Return changes of one literal inside a node, or sometimes of the order of two elements of the node."""
        if not far and self.is_ordered and isinstance(node, ast.List | ast.Tuple) and self.seed.random() < _SWAP_SHARE:
            changes = self._swapped(node, tolerance)
            if changes:
                return changes
        found = list(leaves(node))
        self.seed.shuffle(found)
        for leaf in found[:_MOST_LEAVES]:
            given = leaf, self.source.segment(leaf), self.seed
            text = literals.far_miss(*given) if far else literals.near_miss(*given, tolerance)
            changes = self.source.change(leaf, text, LITERAL) if text else []
            if changes and self._differs(node, changes):
                return changes
        return []

    def _swapped(self, node: ast.List | ast.Tuple, tolerance: Tolerance) -> list[Replacement]:
        """Swap two neighbouring elements that differ by more than the tolerance."""
        values = [evaluated(one) for one in node.elts]
        places = [
            place
            for place, (first, second) in enumerate(pairwise(values))
            if first and second and literals.are_apart(first[0], second[0], tolerance)
        ]
        if not places:
            return []
        place = self.seed.choice(places)
        first, second = node.elts[place : place + 2]
        texts = self.source.segment(first), self.source.segment(second)
        changes = [*self.source.change(first, texts[1], LITERAL), *self.source.change(second, texts[0], LITERAL)]
        return self.source.combined(node, changes) if len(changes) == 2 else []  # noqa: PLR2004 -- both

    def all_far(self, node: ast.expr) -> list[Replacement]:
        """Alter every element of a list, tuple, set or dict display, so that old and new display share no element."""
        if isinstance(node, ast.Call) and len(node.args) == 1:
            return self.all_far(node.args[0])
        elements = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        changes = [self.altered(one, far=True) if one else [] for one in elements]
        if not changes or not all(changes):
            return []
        return self.source.combined(node, [change for one in changes for change in one])

    def same(self, first: ast.expr, second: ast.expr) -> list[Replacement]:
        """Return a change that makes both operands equal, although the assertion requires different operands."""
        changes = []
        for node, other in ((second, first), (first, second)):
            if isinstance(other, ast.Name | ast.Attribute | ast.Subscript):
                changes += self.source.change(node, ast.unparse(other))
        depends = self.site.scope.depends
        if changes or depends(first) or depends(second):
            return changes[:1]  # two evaluations of one expression may differ
        return self.source.change(second, ast.unparse(first), EXPRESSION)

    def _differs(self, node: ast.expr, changes: list[Replacement]) -> bool:
        """Tell if the changes alter the node's value; {2, 2, 1} equals {1, 2}. Return True if the value is unknown."""
        inner = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else node
        before = evaluated(inner)
        if before is None:
            return True
        # None if a change lies in a keyword argument, outside the evaluated part.
        combined = self.source.combined(inner, changes)
        after = evaluated_text(combined[0].text) if combined else None
        as_set = isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"set", "frozenset"}
        try:
            return after is not None and (set(before[0]) != set(after[0]) if as_set else before != after)
        except TypeError:
            return True

    def _near_pin(self, node: ast.expr, place: ast.expr, tolerance: Tolerance) -> list[Replacement]:
        literal = self._pins.get(pin_id(node))
        if literal is None or self.site.scope is not self.site.caller:
            return []
        parsed = expression_of(literal)
        own = Writer(Source(literal), self.site, self.seed, {})
        changes = own.altered(parsed, tolerance=tolerance) if parsed else []
        return self.source.change(place, own.source.altered(changes), LITERAL) if changes else []

    def _at_definition(self, node: ast.expr, *, tolerance: Tolerance, far: bool) -> list[Replacement]:
        """Alter the literal that a name is bound to: in its assignment, or as an argument in the call of a helper."""
        scope, caller = self.site.scope, self.site.caller
        if self.in_place or not isinstance(node, ast.Name) or node.id not in scope.compared:
            return []
        definition, owner = scope.definition(node), scope
        if node.id in self.site.bound:
            definition, owner = self.site.bound[node.id], caller
            if isinstance(definition, ast.Name) and len(caller.read(definition.id)) == 1:
                definition = caller.definition(definition)
        if definition is None or owner.depends(definition):
            return []
        return self.altered(definition, tolerance=tolerance, far=far)

    def not_member(self, element: ast.expr, container: ast.expr) -> list[Replacement]:
        """Alter one side of ``element in container`` so that the condition no longer holds."""
        depends = self.site.scope.depends
        if not depends(element):
            changes = self.altered(element, far=True) or self._at_definition(element, tolerance=EXACT, far=True)
            if changes:
                return changes
        if not depends(container):
            changes = self.all_far(container)
            if not changes and not self.in_place and getattr(container, "id", "") in self.site.scope.compared:
                definition = self.site.scope.definition(container)
                changes = self.all_far(definition) if definition else []
            if changes:
                return changes
        is_text = kind_of(element, self.site.scope) == "str"
        text = self.enclosed(element) if is_text else f"str({self.source.segment(element)})"
        return self.source.change(element, f"{text} + {word(self.seed)!r}")

    def member(self, element: ast.expr, container: ast.expr) -> list[Replacement]:
        """Alter the container of ``element not in container`` so that it contains the element."""
        return self.source.change(container, f"[{ast.unparse(element)}, *{self.enclosed(container)}]")

    def beyond(self, node: ast.expr, other: ast.expr, sign: int) -> list[Replacement]:
        """Alter the bound ``node`` so that no result is higher (``sign`` 1) or lower (``sign`` -1) than the bound."""
        found = evaluated(node)
        digits = _COUNT_DIGITS if "len(" in ast.unparse(other) else _DIGITS
        if found and isinstance(found[0], int | float):
            text = literals.beyond(self.source.segment(node), self.seed, sign, digits)
            return self.source.change(node, text)
        kind = kind_of(node, self.site.scope) or kind_of(other, self.site.scope)
        if kind not in {"", "number", "array"}:
            return []
        text = f"{self.enclosed(node)} {'+' if sign > 0 else '-'} {literals.beyond('', self.seed, 1, digits)}"
        return self.source.change(node, text, OPERAND if kind else EXPRESSION)

    def other_type(self, node: ast.expr) -> list[Replacement]:
        """Replace the expected type by a type such that no object is an instance of both types."""
        types = node.elts if isinstance(node, ast.Tuple) else [node]
        named = {getattr(one, "attr", getattr(one, "id", "")) for one in types}
        if named <= {*_ORDINARY, *_FAMILIAR}:
            kept = [one for one in _ORDINARY if one not in named and not (one == "int" and "bool" in named)]
        elif _PROTOCOL.search(ast.unparse(node)):
            kept = ["slice", "property"]
        else:
            kept = [one for one in _RARE if one not in named]
        return self.source.change(node, self.seed.choice(kept))

    def changed(self, node: ast.expr, *forms: str) -> list[Replacement]:
        """Replace a node by one of several forms, in which {} is the source of the node."""
        form = self.seed.choice(forms) if forms[1:] else forms[0]
        return self.source.change(node, form.format(self.source.segment(node)))

    def negated(self, node: ast.expr) -> list[Replacement]:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                return self.source.change(node, f"bool({self.source.segment(inner)})", NEGATION)
        return self.source.change(node, f"not {self.enclosed(node)}", NEGATION)


#: Types that no class can combine, since their memory layouts conflict; classes that derive from none of them but int.
_ORDINARY = ("str", "int", "float", "list", "dict", "tuple", "set", "bytes")
_FAMILIAR = ("bool", "DataFrame", "Series", "ndarray", "Axes", "Figure")
#: Abstract classes that containers of Python count as instances of.
_PROTOCOL = re.compile("Iter|Sequence|Collection|Container|Sized|Reversible|Set|Hashable|object|abc")
#: Types that no library class derives from, used for classes that may derive from an ordinary type.
_RARE = ("bytearray", "memoryview", "range", "frozenset", "slice")


def expression_of(text: str) -> ast.expr | None:
    """Return the syntax node of a text that is a single expression; None for any other text."""
    tree = tree_of(text)
    return tree.body[0].value if tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None


def evaluated_text(text: str) -> tuple[Any] | None:
    parsed = expression_of(f"({text}\n)")
    return None if parsed is None else evaluated(parsed)
