"""Parity mode: extract the same program from an answer as the original, byte for byte.

The longest program is chosen as in the original: of all ranges of at least two lines that parse, the one with the most
non-blank lines, then the first start, then the first end. The original tries every pair of lines; here the work grows
only with the length of the text:

- A range parses if it is a sequence of top-level statements that each parse, so each statement is parsed once, and the
  furthest end from a start follows from the furthest end of the line after its first statement.
- A statement that does not parse may have a beginning that does. If a beginning can be completed (an open header by a
  body, an open ``try`` by a handler), so can all shorter beginnings: bisection finds the longest one.

Imports are kept, and definitions that the entry point reaches by name: any identifier counts, even a parameter or an
attribute. The syntax tree is tree-sitter's, because Python's own parser ends some statements at other bytes.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from bigcodeflow.sanitizing.grammar import LogicalLine, logical_lines, parse_or_none
from bigcodeflow.sanitizing.statements import reachable

_IMPORTS = frozenset({"import_statement", "import_from_statement"})
_DEFINITIONS = frozenset({"class_definition", "function_definition"})
_LINE_BREAK = re.compile(r"\r\n?|\n")
_ASYNC_FUNCTION = re.compile(r"async(?:[ \t\f]|\\\n)+def\b")
_NOWHERE = -1

# Limit of parsed characters: a constant, plus a multiple of the text's length. Without it, a model's repeated "x = \\"
# lines, each joined to all below, would be parsed to the end from each. Recorded answers stay far below the limit.
_MAX_PARSED_CHARACTERS = 5_000_000
_MAX_PARSED_TIMES = 10


def parity_solution(text: str, entry_point: str) -> str:
    """Return the program that the original's sanitizer extracts from an answer."""
    program = _reached_definitions(longest_program(text.strip()), entry_point)
    lines = program.splitlines()
    # Cut from the first of the trailing unindented lines that mention the entry point. The header of a one-line
    # function is such a line, too; parity loses those functions as the original does.
    cut = None
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].startswith(" "):
            break
        if entry_point and entry_point in lines[number]:
            cut = number
    kept = program if cut is None else "\n".join(lines[:cut])
    return kept.strip() or longest_program(text)


def _reached_definitions(program: str, entry_point: str) -> str:
    source = program.encode()
    root = Parser(Language(tree_sitter_python.language())).parse(source).root_node
    definitions: dict[str | None, Node] = {}
    for child in root.children:
        node = child
        if child.type == "expression_statement" and child.children[0].type == "assignment":
            node = child.children[0]
        elif child.type not in _DEFINITIONS:
            continue
        # The first identifier among the children; for ``a.b = c`` that is ``c``, as in the original.
        definitions.setdefault(next((_text(one) for one in node.children if one.type == "identifier"), None), node)

    def identifiers(name: str) -> Iterator[str]:
        waiting = [definitions[name]] if name in definitions else []
        while waiting:
            for child in waiting.pop().children:
                if child.type == "identifier":
                    yield _text(child)
                else:
                    waiting.append(child)

    reached = reachable([entry_point], identifiers) if entry_point else definitions.keys()
    kept = [child for child in root.children if child.type in _IMPORTS]
    kept += [node for name, node in definitions.items() if name in reached]
    return b"\n".join(source[node.start_byte : node.end_byte] for node in kept).decode()


def _text(node: Node) -> str:
    return (node.text or b"").decode()


class LineRange(NamedTuple):
    """Range of lines in a text, 0-based, including ``last``; only newlines end lines."""

    first: int
    last: int


def longest_program(text: str) -> str:
    """Return the longest range of lines that is a program; the first line if no range is a program."""
    found = longest_program_range(text) or LineRange(0, 0)
    return "\n".join(text.split("\n")[found.first : found.last + 1])


def longest_program_range(text: str) -> LineRange | None:
    """Return the longest range of at least two lines that is a program; None if no range is a program."""
    lines = text.split("\n")
    reach = _ProgramEnds(lines)
    code_before = list(accumulate((bool(line.strip()) for line in lines), initial=0))
    best, most = LineRange(0, 0), 0

    def code_up_to(first: int, end: int) -> int:
        last = reach.line_of[end] if end >= 0 else first
        return code_before[last + 1] - code_before[first] if last > first else 0

    for first, start in enumerate(reach.first_of):
        if code_up_to(first, reach.bound[start]) > most and code_up_to(first, reach.furthest(start)) > most:
            end = reach.furthest(start)
            best, most = LineRange(first, reach.line_of[end]), code_up_to(first, end)
    if not most:
        return None
    last = best.last
    while last > best.first + 1 and not lines[last].strip():
        last -= 1
    # A backslash on the last line of code needs a blank line after it.
    while last < best.last and parse_or_none("\n".join(lines[best.first : last + 1])) is None:
        last += 1
    return LineRange(best.first, last)


class _StatementEnd(NamedTuple):
    """Last line (0-based) of a top-level statement, and of the part of the statement that parses."""

    end: int  # of the whole statement if it parses, else -1
    prefix_end: int  # furthest permitted end within it up to which it parses, else -1


_NO_STATEMENT = _StatementEnd(_NOWHERE, _NOWHERE)


class _ProgramEnds:
    """Last possible end line of a program, by the line at which the program starts.

    Lines are counted as Python counts lines: a carriage return ends a line, although the original counts only newlines.
    A program may end only at a line that ends with a newline.
    """

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._lines: list[str] = []
        self.line_of: list[int] = []  # original line of each
        self.first_of: list[int] = []  # first of each original line
        for number, text in enumerate(texts):
            parts = _LINE_BREAK.split(text.removesuffix("\r"))
            self.first_of.append(len(self._lines))
            self._lines += parts
            self.line_of += [number] * len(parts)
        self._logical = [*logical_lines(self._lines), None]
        self._statements: dict[int, _StatementEnd] = {}
        self._furthest: dict[int, int] = {}
        self._parsing: dict[str, bool] = {}  # what a model writes a thousand times is parsed once
        self._left = _MAX_PARSED_CHARACTERS + _MAX_PARSED_TIMES * sum(map(len, self._lines))
        readable = [_NOWHERE] * len(self._logical)
        for start in range(len(self._lines) - 1, -1, -1):
            line = self._logical[start]
            if line is not None:
                readable[start] = max(line.end, readable[line.end + 1])
        #: By start line, the furthest end that Python's tokenizer permits, known without parsing; -1: none.
        self.bound = [
            _NOWHERE if line is None or line.column or line.is_clause else end
            for line, end in zip(self._logical, readable, strict=True)
        ]

    def furthest(self, start: int) -> int:
        """Return the last possible end line of a program that starts at line ``start``; -1 if none starts there."""
        passed: list[tuple[int, int]] = []  # start of each statement and the furthest end within it
        while start not in self._furthest and self.bound[start] >= 0:
            line = self._logical[start]
            if line is None:
                break
            whole = _StatementEnd(line.end, self._permitted(line)) if not line.last else self._statement_at(start)
            passed.append((start, whole.prefix_end))
            if whole.end < 0:
                start = len(self._lines)
                break
            start = whole.end + 1
        end = self._furthest.get(start, _NOWHERE)
        for passed_start, end_within in reversed(passed):
            end = end if end >= 0 else end_within
            self._furthest[passed_start] = end
        return end

    def _statement_at(self, start: int) -> _StatementEnd:
        """Return the end of the statement that starts at line ``start``; each decorator is parsed separately, once."""
        decorators: list[int] = []
        while start not in self._statements:
            line = self._logical[start]
            if line is None or line.word != "@":
                self._statements[start] = self._statement(line) if line else _NO_STATEMENT
                break
            decorators.append(start)
            following = self._code_from(line.end + 1)
            text = "\n".join(self._lines[following.start : following.end + 1]) if following else ""
            if (
                following is None
                or following.column
                or not (
                    (following.word in {"@", "def", "class"} or _ASYNC_FUNCTION.search(text))
                    and self._parses(line.start, line.end, "\ndef _(): pass")
                )
            ):
                self._statements[start] = _NO_STATEMENT
                break
            start = following.start
        found = self._statements[start]
        self._statements |= dict.fromkeys(decorators, found)
        return found

    def _permitted(self, line: LogicalLine) -> int:
        number = self.line_of[line.end]
        ends_original_line = number not in self.line_of[line.end + 1 : line.end + 2]
        # A backslash joins an empty next line only if yet another line follows.
        joined_to_nothing = line.end > line.start and not self._lines[line.end] and self._texts[number][-1:] != "\r"
        return line.end if ends_original_line and not joined_to_nothing else _NOWHERE

    def _statement(self, head: LogicalLine) -> _StatementEnd:
        members = [head]
        line = self._code_from(head.end + 1)
        while line is not None and (line.column or line.is_clause):
            members.append(line)
            line = self._code_from(line.end + 1)
        end = members[-1].end
        whole = self._parses(head.start, end)
        if whole and self._permitted(members[-1]) >= 0:
            return _StatementEnd(end, end)
        if len(members) == 1 and not whole:
            return _NO_STATEMENT
        return _StatementEnd(end if whole else _NOWHERE, self._prefix_end(members))

    def _code_from(self, start: int) -> LogicalLine | None:
        line = self._logical[start]
        while line is not None and not line.last:
            line = self._logical[line.end + 1]
        return line

    def _parses(self, start: int, end: int, completion: str = "") -> bool:
        if self._left <= 0:
            return False
        text = "\n".join(self._lines[start : end + 1]) + completion + "\n"
        if text not in self._parsing:
            self._left -= len(text)
            self._parsing[text] = parse_or_none(text) is not None
        return self._parsing[text]

    def _prefix_end(self, members: list[LogicalLine]) -> int:
        completions = _completions(members)
        viable, refused = -1, len(members)
        while refused - viable > 1:
            middle = (viable + refused) // 2
            if self._parses(members[0].start, members[middle].end, completions[middle]):
                viable = middle
            else:
                refused = middle
        for index in range(viable, -1, -1):
            if not completions[index]:
                end, following = self._permitted(members[index]), self._logical[members[index].end + 1]
                while following is not None and not following.last:  # lines without code may follow
                    end, following = max(end, self._permitted(following)), self._logical[following.end + 1]
                if end >= 0:
                    return end
        return _NOWHERE


def _completions(members: list[LogicalLine]) -> list[str]:
    """Return for each line the code that completes a statement cut off after this line; empty if nothing is missing."""
    completions = []
    waiting: list[LogicalLine] = []  # try statements without a handler, outermost first
    for line in members:
        while waiting and (
            line.column < waiting[-1].column or (line.column == waiting[-1].column and not line.is_clause)
        ):
            waiting.pop()
        if line.word in {"except", "finally"} and waiting and waiting[-1].column == line.column:
            waiting.pop()
        if line.word == "try":
            waiting.append(line)
        if line.word == "@":
            body = f"\n{line.indent}def _(): pass"
        elif line.last == ":":
            body = f"\n{line.indent} case _: pass" if line.word == "match" else f"\n{line.indent} pass"
        else:
            body = ""
        completions.append(body + "".join(f"\n{statement.indent}except: pass" for statement in reversed(waiting)))
    return completions
