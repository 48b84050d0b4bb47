"""Parse programs with the grammar of Python 3.10, which the sandbox executes, whatever Python runs this module.

``ast.parse`` with a feature version refuses newer statements, but not the f-strings of Python 3.12 and later, which may
reuse their own quotes. This module detects such f-strings by reading strings as Python 3.10 does.
"""

import ast
import re
import sys
from functools import lru_cache
from typing import NamedTuple

from bigcodeflow.core import untrusted_text

#: Version of the sandbox's Python.
FEATURE_VERSION = (3, 10)
#: Limit of a message; the parser puts a program's own names into some.
_MAX_MESSAGE_CHARACTERS = 300

_STRING_START = re.compile(r"""#|\\.|\"\"\"|'''|"|'""", re.DOTALL)
_WORD_END = re.compile(r"[A-Za-z_0-9]*\Z")
_F_PREFIXES = frozenset({"f", "rf", "fr"})
# Part of a replacement field's expression as 3.10 reads it: a string, or a character outside strings.
_FIELD_PART = re.compile(r"""((?>'''|\"\"\"|'|"))[^\\]*?\1|[^\\#'"]""")
_UNREADABLE = re.compile("[\0\ud800-\udfff]")

_CLAUSES = ("else", "elif", "except", "finally")
_MAX_NESTING = 200  # brackets; Python's tokenizer refuses more
_CLOSES = {")": "(", "]": "[", "}": "{"}
_TAB_COLUMNS = 8

_CODE_STOP = re.compile(r"""\"\"\"|'''|["'#()\[\]{}\\]""")
_STRING_STOP = {quote: re.compile(rf"\\(?:.|$)|{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")}
_FIRST_WORD = re.compile(r"(?:[ \t\f]|\\\n)*(@|\w*)")
_INDENT = re.compile(r"[ \t\f]*")


@lru_cache(maxsize=2)  # several readers take a sample's program and its prompt in turn; none changes the tree
def parse(text: str) -> ast.Module:
    """Parse a program with Python 3.10's grammar; raise the same errors as `untrusted_text.parse`."""
    tree = untrusted_text.parse(text, feature_version=FEATURE_VERSION)
    if sys.version_info >= (3, 12) and (line := newer_fstring_line(text)):
        raise SyntaxError("f-string reuses its quotes, or holds a backslash or comment", ("", line, 1, None))
    return tree


def parse_or_none(text: str) -> ast.Module | None:
    """Return the syntax tree of a program; None if the text is not a program of Python 3.10."""
    try:
        return parse(text)
    except untrusted_text.REFUSALS:
        return None


@untrusted_text.with_fallback(lambda _program: "cannot be read by this machine's Python")
def syntax_error(program: str) -> str:
    """Return why a program does not compile in Python 3.10, with the line (1-based); empty if the program compiles."""
    if unreadable := _UNREADABLE.search(program):
        problem = "NUL byte" if unreadable[0] == "\0" else "lone surrogate, which no encoding can hold"
        line = program.count("\n", 0, unreadable.start()) + 1
        return f"line {line}: {problem}"
    try:
        tree = parse(program)
        with untrusted_text.parser():
            # The compiler refuses some programs that the grammar permits, such as a return outside a function.
            compile(tree, "<solution>", "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return f"{where}{' '.join((error.msg or 'invalid syntax').split())[:_MAX_MESSAGE_CHARACTERS]}"
    except RecursionError:
        return "nested too deeply to be compiled"
    except MemoryError:
        return "nested too deeply to be parsed"
    except ValueError as error:
        return " ".join(str(error).split())
    return ""


def newer_fstring_line(text: str) -> int:
    """Return the line (1-based) of the first f-string that needs Python 3.12, or 0; ``text`` must be valid in 3.12."""
    position = 0
    while match := _STRING_START.search(text, position):
        if match[0] == "#":
            end = text.find("\n", match.end())
            position = len(text) if end < 0 else end
        elif match[0][0] == "\\":
            position = match.end()
        else:
            position = _string_end(text, match.end(), match[0])
            content = text[match.end() : max(match.end(), position - len(match[0]))]
            # Only the end of the word before the quotes can be a prefix; the whole word may be very long.
            word = _WORD_END.search(text, max(0, match.start() - 3), match.start())
            if word and word[0].lower() in _F_PREFIXES and not _readable_by_310(content):
                return text.count("\n", 0, match.start()) + 1
    return 0


def _string_end(text: str, start: int, quote: str) -> int:
    """Return the position after a string's closing quote. In Python 3.10 even a quote in braces {} ends a string."""
    stop = re.compile(rf"\\.|{quote}" if len(quote) > 1 else rf"\\.|{quote}|\n", re.DOTALL)
    return next((match.end() for match in stop.finditer(text, start) if match[0][0] != "\\"), len(text))


def _readable_by_310(content: str) -> bool:
    formats = 0  # replacement fields whose format specification is being read
    position = 0
    while position < len(content):
        char = content[position]
        position += 1
        if char == "{" and not formats and content[position : position + 1] == "{":
            position += 1
        elif char == "{":
            end = _expression_end(content, position)
            if end < 0:
                return False
            formats += content[end] == ":"
            position = end + 1
        elif char == "}" and formats:
            formats -= 1
    return not formats


def _expression_end(content: str, position: int) -> int:
    """Return the position of ':' or '}' after an f-string's expression; -1 if Python 3.10 rejects the expression."""
    depth = 0
    while part := _FIELD_PART.match(content, position):
        if not depth and part[0] in ":}":
            return position
        depth += (part[0] in "([{") - (part[0] in ")]}")
        position = part.end()
    return -1


class LogicalLine(NamedTuple):
    """Logical line: lines ``start`` to ``end`` (0-based, inclusive), which Python joins; or a line without code."""

    start: int
    end: int
    indent: str
    column: int  # of the indentation
    word: str  # first word, or '@'; empty: none
    last: str  # last character of code; empty: the line holds no code

    @property
    def is_clause(self) -> bool:
        """True if the line begins a clause of a compound statement, such as ``else`` or ``except``."""
        return self.word in _CLAUSES


class _State(NamedTuple):
    """State after reading physical lines: the brackets and the string that are still open."""

    brackets: str = ""
    quote: str = ""
    last: str = ""  # last character of code
    depth: int = 0  # most brackets open at once
    joined: bool = False  # a backslash joins the next line
    closes_foreign: bool = False  # `line` closes a bracket opened above the start; other fields: state before `line`
    line: int = -1  # last line that was read


def logical_lines(lines: list[str]) -> list[LogicalLine | None]:
    """Return for each line the logical line that starts there, or None if it never ends or is invalid.

    The text need not be a program. The meaning of a line depends on the start of reading: a line within a docstring is
    prose if reading starts above the docstring, and code if reading starts at the line. So the result is computed for
    each start, from the last line backwards, and is reused by readings that reach this start outside a string.
    """
    results: list[_State | None] = [None] * len(lines)
    for start in range(len(lines) - 1, -1, -1):
        results[start] = _read_from(lines, start, results) if lines[start] else _State(line=start)
    return [_logical_line(lines, start, result) for start, result in enumerate(results)]


def _read_from(lines: list[str], start: int, results: list[_State | None]) -> _State | None:
    """Read the logical line that begins at ``start``; return None if the logical line never ends or is invalid."""
    number, brackets, quote, last, depth = start, "", "", "", 0
    while number < len(lines):
        line = _read_line(lines[number], brackets, quote)
        if line is None:
            return None
        if line.closes_foreign:
            return _State(brackets, quote, last, depth, closes_foreign=True, line=number)
        depth = max(depth, line.depth)
        brackets, quote, last = line.brackets, line.quote, line.last or last
        number += 1
        if not (brackets or quote or line.joined):
            return _State(last=last, depth=depth, line=number - 1)
        # Outside strings, the reader that started at the next line has the result already.
        while not quote and number < len(lines):
            known = results[number]
            if known is None or len(brackets) + known.depth > _MAX_NESTING:
                return None
            last, depth = known.last or last, max(depth, len(brackets) + known.depth)
            if not brackets:
                return known._replace(last=last, depth=depth)
            if known.closes_foreign:
                number, brackets, quote = known.line, brackets + known.brackets, known.quote
                break
            number = known.line + 1
    return None


def _read_line(line: str, brackets: str, quote: str) -> _State | None:
    """Read a physical line after open ``brackets`` and ``quote``; return the new state, or None for an invalid line."""
    position, depth = 0, 0
    while True:
        if quote:
            marks = _STRING_STOP[quote].finditer(line, position)
            end = next((mark.end() for mark in marks if mark[0][0] != "\\"), -1)
            if end < 0:
                tail = line[position:]
                goes_on = len(quote) > 1 or (len(tail) - len(tail.rstrip("\\"))) % 2 == 1  # ends in a backslash
                return _State(brackets, quote, quote[0], depth) if goes_on else None
            quote, position = "", end
        match = _CODE_STOP.search(line, position)
        mark, stop = (match[0], match.start()) if match else ("", len(line))
        if mark in {"", "#", "\\"}:
            ended = mark != "\\" or stop == len(line) - 1
            last = line[:stop].rstrip(" \t\f")[-1:]
            return _State(brackets, "", last, depth, mark == "\\") if ended else None
        position = stop + len(mark)
        if mark in _STRING_STOP:
            quote = mark
        elif mark in "([{":
            brackets += mark
            depth = max(depth, len(brackets))
            if depth > _MAX_NESTING:
                return None
        elif brackets[-1:] == _CLOSES[mark]:
            brackets = brackets[:-1]
        else:
            return None if brackets else _State(closes_foreign=True)


def _logical_line(lines: list[str], start: int, result: _State | None) -> LogicalLine | None:
    if result is None or result.closes_foreign:
        return None
    if not result.last:
        return LogicalLine(start, result.line, "", 0, "", "")
    # If a line begins with a backslash, the first indented line of the join determines its indentation.
    end = start
    indent = _indent(lines[start])
    while not indent and end < result.line and lines[end].lstrip(" \t\f").startswith("\\"):
        end += 1
        indent = _indent(lines[end])
    text = lines[start]
    if text.lstrip(" \t\f").startswith("\\"):
        text = "\n".join(lines[start : result.line + 1])
    word = _FIRST_WORD.match(text)
    column = len(indent.expandtabs(_TAB_COLUMNS))
    return LogicalLine(start, result.line, indent, column, word[1] if word else "", result.last)


def _indent(line: str) -> str:
    blanks = _INDENT.match(line)
    return blanks[0].rpartition("\f")[2] if blanks else ""
