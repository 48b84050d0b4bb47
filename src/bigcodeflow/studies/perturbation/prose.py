"""Rename parameters in docstrings and prompts: in examples, in lists of parameters, and in unambiguous sentences."""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import groupby

from bigcodeflow.core.source_text import UnsafeError

#: Line that begins a section of a docstring: its heading, and the text after the colon.
HEADING = re.compile(
    r"[ \t]*(?P<heading>Parameters?|Args|Arguments|Returns?|Raises?|Requirements?|Examples?|Notes?|Constants)"
    r"[ \t]*:[ \t]*(?P<rest>[^\n]*)"
)
_PARAMETERS = frozenset({"Parameter", "Parameters", "Args", "Arguments"})
_EXAMPLE = re.compile(r"([ \t]*)(>>>|\.\.\.)( |$)(.*)", re.DOTALL)

_QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")

Renamed = Callable[[str], str]


def is_distinctive(name: str) -> bool:
    """Tell if a word of prose with this spelling can only be the name."""
    return "_" in name.strip("_") or any(character.isdigit() for character in name)


def word(name: str) -> str:
    """Return a pattern that matches the name as a whole word, but not as an attribute."""
    return rf"(?<![\w.]){re.escape(name)}(?!\w)"


def renamed_prose(text: str, names: Mapping[str, str], code: Renamed, literals: Collection[str]) -> str:
    """Return a docstring or prompt with new names of parameters; keep other words with the same spelling.

    Args:
        names: new name by old name.
        code: renames in a piece of code, such as the lines of an example.
        literals: string literals of solution and test, such as keys and messages, which must stay.
    """
    lines, section = list[str](), ""
    quoted = {one for literal in literals for one in re.findall(r"\w+", literal)}
    for is_example, group in groupby(text.split("\n"), key=lambda line: bool(_EXAMPLE.fullmatch(line))):
        if is_example:
            lines += _renamed_examples(list(group), code)
            continue
        for line in group:
            if match := HEADING.fullmatch(line):
                section = match["heading"]
            lines.append(_renamed_line(line, names, literals, quoted, listed=section in _PARAMETERS))
    return "\n".join(lines)


def _renamed_line(
    line: str, names: Mapping[str, str], literals: Collection[str], quoted: Collection[str], *, listed: bool
) -> str:
    for name, new_name in names.items():
        plain = re.escape(name)
        clear = [rf"`{plain}`", rf"\{{{plain}(?=[}}.\[!:])", rf"(?<![\w.]){plain}(?= ?\([\w\[\], .|]+\)\s*:)"]
        if listed:
            clear.append(rf"^\s*(?:[-*]\s*)?{plain}(?=\s*[(:]|\s+-)")
        if is_distinctive(name) and name not in quoted:
            clear = [word(name)]
        elif is_distinctive(name) and name not in literals:  # a message names it, which a docstring quotes
            parts = _QUOTED.split(line)
            line = "".join(re.sub(word(name), new_name, part) if not n % 2 else part for n, part in enumerate(parts))
        pieces = re.split(f"({'|'.join(clear)})", line)
        line = "".join(one.replace(name, new_name) if place % 2 else one for place, one in enumerate(pieces))
    return line


def _renamed_examples(lines: list[str], code: Renamed) -> list[str]:
    """Rename in the lines of a doctest, one statement at a time, as the next may not be Python."""
    found = list[str]()
    for statement in _statements(lines):
        matches = [match for line in statement if (match := _EXAMPLE.fullmatch(line))]
        text = "\n".join(match[4] for match in matches)
        try:
            text = code(text)
        except UnsafeError:
            found += statement
            continue
        renamed = text.split("\n")
        found += [f"{match[1]}{match[2]}{match[3]}{line}" for match, line in zip(matches, renamed, strict=True)]
    return found


def _statements(lines: list[str]) -> Iterator[list[str]]:
    statement = list[str]()
    for line in lines:
        if line.lstrip().startswith(">>>") and statement:
            yield statement
            statement = []
        statement.append(line)
    yield statement


def literals_of(*trees: ast.AST) -> set[str]:
    """Return the string literals of programs, without docstrings."""
    found = set[str]()
    for tree in trees:
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and isinstance(node.body[0], ast.Expr)
        }
        strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docstrings)
        found |= {node.value for node in strings if isinstance(node.value, str)}
    return found
