"""Python 3.10's grammar, whichever Python runs this: the sandbox executes 3.10, so its grammar decides.

``ast.parse`` with a feature version refuses newer statements, but not the f-strings of Python 3.12 and later, which may
reuse their own quotes. Those are found by reading strings the way 3.10 does.
"""

import ast
import re
import sys

from bigcodeflow.core import untrusted_text

#: The sandbox's Python.
FEATURE_VERSION = (3, 10)
#: Of a message; the parser puts a program's own names into some.
_MAX_MESSAGE_CHARACTERS = 300

_STRING_START = re.compile(r"""#|\\.|\"\"\"|'''|"|'""", re.DOTALL)
_WORD_END = re.compile(r"[A-Za-z_0-9]*\Z")
_F_PREFIXES = frozenset({"f", "rf", "fr"})
_QUOTES = ("'''", '"""', "'", '"')
_UNREADABLE = re.compile("[\0\ud800-\udfff]")


class FStringError(SyntaxError):
    """An f-string that only Python 3.12 and later can read."""


def parse(text: str) -> ast.Module:
    """The syntax tree of a program under Python 3.10's grammar.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as :func:`bigcodeflow.core.untrusted_text.parse`.
    """
    tree = untrusted_text.parse(text, feature_version=FEATURE_VERSION)
    if sys.version_info >= (3, 12):
        line = newer_fstring_line(text)
        if line:
            raise FStringError("f-string reuses its quotes, or holds a backslash or comment", ("", line, 1, None))
    return tree


def parse_or_none(text: str) -> ast.Module | None:
    """The syntax tree of a program, or None where the text is not one."""
    try:
        return parse(text)
    except untrusted_text.REFUSALS:
        return None


@untrusted_text.fails_alone(lambda _program: "cannot be read by this machine's Python")
def syntax_error(program: str) -> str:
    """Why a program does not compile under 3.10's grammar, with its line (1-based); empty: it compiles."""
    unreadable = _UNREADABLE.search(program)
    if unreadable:
        problem = "NUL byte" if unreadable[0] == "\0" else "lone surrogate, which no encoding can hold"
        line = program.count("\n", 0, unreadable.start()) + 1
        return f"line {line}: {problem}"
    try:
        tree = parse(program)
        with untrusted_text.parser():
            # What the grammar permits, the compiler may not, such as a return outside a function.
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
    """Line (1-based) of the first f-string that needs Python 3.12, in a text that parses there; 0: none."""
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
    """Position after the quote that closes a string for Python 3.10, where a field's quotes count as well."""
    stop = re.compile(rf"\\.|{quote}" if len(quote) > 1 else rf"\\.|{quote}|\n", re.DOTALL)
    while match := stop.search(text, start):
        start = match.end()
        if match[0][0] != "\\":
            return start
    return len(text)


def _readable_by_310(content: str) -> bool:
    formats = 0  # replacement fields whose format specification is being read
    position = 0
    while position < len(content):
        char = content[position]
        if char == "{" and not formats and content[position + 1 : position + 2] == "{":
            position += 2
        elif char == "{":
            end = _expression_end(content, position + 1)
            if end < 0:
                return False
            formats += content[end] == ":"
            position = end + 1
        elif char == "}" and formats:
            formats -= 1
            position += 1
        else:
            position += 1
    return not formats


def _expression_end(content: str, position: int) -> int:
    """Position of the colon or brace that ends a field's expression; -1 where 3.10 refuses the expression."""
    depth = 0
    quote = ""
    while position < len(content):
        char = content[position]
        if char == "\\" or (char == "#" and not quote):
            break
        if quote:
            closes = content.startswith(quote, position)
            position += len(quote) if closes else 1
            quote = "" if closes else quote
            continue
        quote = next((mark for mark in _QUOTES if content.startswith(mark, position)), "")
        if quote:
            position += len(quote)
            continue
        if not depth and char in ":}":
            return position
        depth += (char in "([{") - (char in ")]}")
        position += 1
    return -1
