"""Names in docstrings and prompts: in examples, in lists of parameters, and in sentences where they are clear."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from bigcodeflow.studies.perturbation.edits import UnsafeError

#: A line that begins a section of a docstring: its heading, and what stands behind the colon.
HEADING = re.compile(
    r"[ \t]*(?P<heading>Parameters?|Args|Arguments|Returns?|Raises?|Requirements?|Examples?|Notes?|Constants)"
    r"[ \t]*:[ \t]*(?P<rest>[^\n]*)"
)
_PARAMETERS = frozenset({"Parameter", "Parameters", "Args", "Arguments"})
_EXAMPLE = re.compile(r"([ \t]*)(>>>|\.\.\.)( |$)(.*)", re.DOTALL)

Renamed = Callable[[str], str]


def is_distinctive(name: str) -> bool:
    """Whether a word of prose that is spelled so can only be the name."""
    return "_" in name.strip("_") or any(character.isdigit() for character in name)


def word(name: str) -> str:
    """Pattern of the name as a whole word, which is no attribute of something."""
    return rf"(?<![\w.]){re.escape(name)}(?!\w)"


def renamed_prose(text: str, names: Mapping[str, str], code: Renamed, quoted: frozenset[str]) -> str:
    """A docstring or prompt in which parameters have new names; other words that are spelled alike stay.

    Args:
        names: new name by old name.
        code: renames in a piece of code, such as the lines of an example.
        quoted: words of string literals of solution and test, which messages and keys must go on to have.
    """
    lines, section = list[str](), ""
    for is_example, group in groupby(text.split("\n"), key=lambda line: bool(_EXAMPLE.fullmatch(line))):
        if is_example:
            lines += _renamed_examples(list(group), code)
            continue
        for line in group:
            if match := HEADING.fullmatch(line):
                section = match["heading"]
            lines.append(_renamed_line(line, names, quoted, listed=section in _PARAMETERS))
    return "\n".join(lines)


def _renamed_line(line: str, names: Mapping[str, str], quoted: frozenset[str], *, listed: bool) -> str:
    for name, new_name in names.items():
        plain = re.escape(name)
        clear = [rf"`{plain}`", rf"\{{{plain}(?=[}}.\[!:])", rf"(?<![\w.]){plain}(?= ?\([\w\[\], .|]+\)\s*:)"]
        if listed:
            clear.append(rf"^\s*(?:[-*]\s*)?{plain}(?=\s*[(:]|\s+-)")
        if is_distinctive(name) and name not in quoted:
            clear = [word(name)]
        line = _replaced(line, "|".join(clear), name, new_name)
    return line


def _replaced(line: str, places: str, name: str, new_name: str) -> str:
    """The line with a name replaced in what a pattern of its places matches."""
    return re.sub(places, lambda match: match[0].replace(name, new_name), line)


def _renamed_examples(lines: list[str], code: Renamed) -> list[str]:
    """Lines of a doctest; each statement is renamed in alone, as the next may not be Python."""
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


def quoted_words(*trees: ast.AST) -> frozenset[str]:
    """The words of all string literals, docstrings left out."""
    found = set[str]()
    for tree in trees:
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                found.update(re.findall(r"\w+", node.value))
    return frozenset(found)
