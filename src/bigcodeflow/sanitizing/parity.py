"""What the original takes out of an answer, byte for byte.

Of the longest program in the answer it keeps the direct children of the syntax tree's root that are imports, or
definitions that the entry point reaches by name: any identifier counts, be it a parameter or an attribute. The tree is
tree-sitter's, whose nodes say where a statement's bytes end; Python's own parser ends some elsewhere.
"""

from typing import NamedTuple

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from bigcodeflow.sanitizing.extraction import longest_program

_IMPORTS = frozenset({"import_statement", "import_from_statement"})
_DEFINITIONS = frozenset({"class_definition", "function_definition"})


class _Definition(NamedTuple):
    name: str | None
    node: Node


def parity_solution(text: str, entry_point: str) -> str:
    """The program that the original's sanitizer makes of an answer."""
    program = longest_program(text.strip())
    kept = _without_trailing_use(_filtered(program, entry_point), entry_point).strip()
    return kept or longest_program(text)


def _filtered(program: str, entry_point: str) -> str:
    source = program.encode()
    root = Parser(Language(tree_sitter_python.language())).parse(source).root_node
    imports = [child for child in root.children if child.type in _IMPORTS]
    definitions = _first_definitions(root)
    reached = _reached(definitions, entry_point) if entry_point else {item.name for item in definitions}
    kept = imports + [item.node for item in definitions if item.name in reached]
    return b"\n".join(source[node.start_byte : node.end_byte] for node in kept).decode()


def _first_definitions(root: Node) -> list[_Definition]:
    found: dict[str | None, Node] = {}
    for child in root.children:
        node = child
        if child.type == "expression_statement" and child.children[0].type == "assignment":
            node = child.children[0]
        elif child.type not in _DEFINITIONS:
            continue
        found.setdefault(_name(node), node)
    return [_Definition(name, node) for name, node in found.items()]


def _name(node: Node) -> str | None:
    """The first identifier among a node's children; for ``a.b = c`` that is ``c``, as in the original."""
    return next((_text(child) for child in node.children if child.type == "identifier"), None)


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _reached(definitions: list[_Definition], entry_point: str) -> set[str | None]:
    mentions = {item.name: _identifiers(item.node) for item in definitions}
    reached: set[str | None] = {entry_point}
    waiting: list[str | None] = [entry_point]
    while waiting:
        new = mentions.get(waiting.pop(), set()) - reached
        reached |= new
        waiting.extend(new)
    return reached


def _identifiers(node: Node) -> set[str | None]:
    found: set[str | None] = set()
    waiting = [node]
    while waiting:
        for child in waiting.pop().children:
            if child.type == "identifier":
                found.add(_text(child))
            else:
                waiting.append(child)
    return found


def _without_trailing_use(program: str, entry_point: str) -> str:
    """Cut from the first of the trailing unindented lines that mention the entry point.

    The header of a one-line function is such a line, too; parity loses those functions as the original does.
    """
    lines = program.splitlines()
    cut = None
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].startswith(" "):
            break
        if entry_point and entry_point in lines[number]:
            cut = number
    return program if cut is None else "\n".join(lines[:cut])
