"""Logical lines of a text that need not be a program, read the way Python's tokenizer reads them.

A text can be entered at any line, and what follows depends on where it was entered: a line within a docstring is prose
for one reader and code for another. Readers are therefore started from the last line backwards, and one that comes
to a line outside a string goes on from what the reader that started there found out.
"""

import re
from typing import Literal, NamedTuple

_CLAUSES = frozenset({"else", "elif", "except", "finally"})
_MAX_NESTING = 200  # brackets; Python's tokenizer refuses more
_CLOSES = {")": "(", "]": "[", "}": "{"}
_TAB_COLUMNS = 8

_CODE_STOP = re.compile(r"""\"\"\"|'''|["'#()\[\]{}\\]""")
_STRING_STOP = {quote: re.compile(rf"\\(?:.|$)|{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")}
_FIRST_WORD = re.compile(r"(?:[ \t\f]|\\\n)*(@|\w*)")
_INDENT = re.compile(r"[ \t\f]*")


class LogicalLine(NamedTuple):
    """A statement's or a clause's lines, or one line without code. Lines are 0-based, `end` included."""

    start: int
    end: int
    indent: str
    column: int  # of the indentation
    word: str  # first word, or '@'; empty: none
    last: str  # last character of code; empty: the line holds no code

    @property
    def is_clause(self) -> bool:
        """Continues a compound statement at the statement's own indentation."""
        return self.word in _CLAUSES


class _ReadResult(NamedTuple):
    """How far a reader came that started at a line."""

    kind: Literal["complete", "unreadable", "closes_foreign"]
    line: int = -1  # complete: last line. closes_foreign: the line that closes a bracket of an outer reader
    last: str = ""
    depth: int = 0  # most brackets open at once
    brackets: str = ""  # closes_foreign: open at the start of `line`
    quote: str = ""  # closes_foreign: of the string open there


_UNREADABLE = _ReadResult("unreadable")


class _LineState(NamedTuple):
    """What reading one line led to."""

    outcome: Literal["open", "unreadable", "closes_foreign"]
    brackets: str = ""
    quote: str = ""
    joined: bool = False  # a backslash joins the next line
    last: str = ""
    depth: int = 0


def logical_lines(lines: list[str]) -> list[LogicalLine | None]:
    """For every line the logical line that starts there; None where it is never complete or cannot be read."""
    results = [_UNREADABLE] * len(lines)
    for start in range(len(lines) - 1, -1, -1):
        results[start] = _read_from(lines, start, results) if lines[start] else _ReadResult("complete", start)
    return [_logical_line(lines, start, result) for start, result in enumerate(results)]


def _read_from(lines: list[str], start: int, results: list[_ReadResult]) -> _ReadResult:
    number, brackets, quote, last, depth = start, "", "", "", 0
    while number < len(lines):
        line = _read(lines[number], brackets, quote)
        if line.outcome == "closes_foreign":
            return _ReadResult("closes_foreign", number, last, depth, brackets, quote)
        depth = max(depth, line.depth)
        if line.outcome == "unreadable":
            return _UNREADABLE
        brackets, quote, last = line.brackets, line.quote, line.last or last
        number += 1
        if not (brackets or quote or line.joined):
            return _ReadResult("complete", number - 1, last, depth)
        # Outside strings, whoever started at the next line has already found what comes there.
        while not quote and number < len(lines):
            known = results[number]
            depth = max(depth, len(brackets) + known.depth)
            if known.kind == "unreadable" or depth > _MAX_NESTING:
                return _UNREADABLE
            last = known.last or last
            if not brackets:
                return known._replace(last=last, depth=depth)
            if known.kind == "closes_foreign":
                number, brackets, quote = known.line, brackets + known.brackets, known.quote
                break
            number = known.line + 1
    return _UNREADABLE


def _read(line: str, brackets: str, quote: str) -> _LineState:
    position, depth = 0, 0
    while True:
        if quote:
            end = _string_end(line, position, quote)
            if end < 0:
                tail = line[position:]
                goes_on = len(quote) > 1 or (len(tail) - len(tail.rstrip("\\"))) % 2 == 1  # ends in a backslash
                return _LineState("open" if goes_on else "unreadable", brackets, quote, last=quote[0], depth=depth)
            quote, position = "", end
        match = _CODE_STOP.search(line, position)
        mark, stop = (match[0], match.start()) if match else ("", len(line))
        if mark in {"", "#", "\\"}:
            ended = mark != "\\" or stop == len(line) - 1
            code = line[:stop].rstrip(" \t\f")
            return _LineState("open" if ended else "unreadable", brackets, "", mark == "\\", code[-1:], depth)
        position = stop + len(mark)
        if mark in _STRING_STOP:
            quote = mark
        elif mark in "([{":
            brackets += mark
            depth = max(depth, len(brackets))
            if depth > _MAX_NESTING:
                return _LineState("unreadable")
        elif brackets[-1:] == _CLOSES[mark]:
            brackets = brackets[:-1]
        else:
            return _LineState("unreadable" if brackets else "closes_foreign")


def _string_end(line: str, position: int, quote: str) -> int:
    for match in _STRING_STOP[quote].finditer(line, position):
        if match[0][0] != "\\":
            return match.end()
    return -1


def _logical_line(lines: list[str], start: int, result: _ReadResult) -> LogicalLine | None:
    if result.kind != "complete":
        return None
    if not result.last:
        return LogicalLine(start, result.line, "", 0, "", "")
    # A line that begins with a backslash is indented as the first line of the join that is indented at all.
    end = start
    indent = _indent(lines[start])
    while not indent and end < result.line and lines[end].lstrip(" \t\f").startswith("\\"):
        end += 1
        indent = _indent(lines[end])
    text = lines[start]
    if text.lstrip(" \t\f").startswith("\\"):
        text = "\n".join(lines[start : result.line + 1])
    word = _FIRST_WORD.match(text)
    return LogicalLine(
        start, result.line, indent, len(indent.expandtabs(_TAB_COLUMNS)), word[1] if word else "", result.last
    )


def _indent(line: str) -> str:
    blanks = _INDENT.match(line)
    return blanks[0].rpartition("\f")[2] if blanks else ""
