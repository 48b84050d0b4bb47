"""Find the parts of an answer that may be programs: remove thoughts, undo wrappings, split at fences and tags."""

import ast
import html
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from bigcodeflow.sanitizing.grammar import logical_lines, parse_or_none

# A string, a comment or inline code. An apostrophe within a word opens no string; neither does a triple quote whose
# string a fence line interrupts, since prose mentions quotes too; a fence inside a comment ends the comment. Python
# 3.11.2 matches nothing if a possessive repeat holds a lookahead; an atomic group means the same and works everywhere.
_QUOTED = r"""
    \"""(?>(?:\\.|(?!\"""|\n[ \t]*```)[^\\])*)\"""  |  '''(?>(?:\\.|(?!'''|\n[ \t]*```)[^\\])*)'''
    | "(?:\\.|[^\\\n"])*+"  |  (?<!\w)[rbfu]{0,2}'(?:\\.|[^\\\n'])*+'
    | (?<!\S)\#(?>(?:(?!```)[^\n])*)  |  (?<!`)`[^`\n]++`(?!`)
"""


def marks(pattern: str) -> Callable[[str], Iterator[re.Match[str]]]:
    """Return a function that yields matches of a verbose regular expression outside strings and comments."""
    flags = re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE
    anywhere, outside = re.compile(pattern, flags), re.compile(f"{_QUOTED}|(?P<mark>{pattern})", flags)

    def found(text: str) -> Iterator[re.Match[str]]:
        if anywhere.search(text):  # most texts have none, which takes a tenth of the time to see
            yield from (match for match in outside.finditer(text) if match["mark"])

    return found


_tags = marks(
    r"""<(?:seed:)?/?(?:seed:)?(?:think|thinking|thought|reasoning)>  |  <\|(?:begin|end)_of_thought\|>
    | (?-i:(?<!\w)\[THINK\]|\[/THINK\])  |  ◁/?think▷
    | <\|channel\|>\s*+(?:analysis|commentary|final)\b[^\n]{0,99}?<\|message\|>  |  (?-i:assistantfinal)"""
)
_CHANNEL = re.compile(r"<\|channel\|>|assistantfinal", re.IGNORECASE)
_CLOSES = re.compile(r"[<\[◁](?:seed:)?/|<\|end|(?:<\|channel\|>\s*|assistant)final\b", re.IGNORECASE)

_MAX_READINGS = 8
_FENCE = re.compile(
    r"\n[ \t]*+(?:[-*>][ \t]++)?(?:`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)(?![ ]*(?:def|class|import|from|@))[^`\n]*+(?=\n)"
)
_PYTHON = re.compile(r"(?:i?py.*|jupyter|code|tool_code)?", re.IGNORECASE)

# Text that never occurs in Python outside strings: fences, special tokens, closing tags; and tags at a line's ends.
_boundaries = marks(
    r"""(?:`{3,}+(?:i?python3?\b|py3?\b|tool_code\b|code\b)? | (?<!~)~{3,}+(?=[ \t]*$)
    | <[|\uff5c][^|\uff5c<>\n]{1,60}[|\uff5c]> | <(?:s|[eb]os|eo[tm]|pad|unk|(?:start|end)_of_\w+)>
    | </[a-z][^<>\n]{0,80}> | ^[ \t]*+(?:<[a-z?][^<>\n]{0,80}>)++ | <[a-z]\w*>(?=[ \t]*$) | <!\[CDATA\[ | ]]>
    | (?-i:\[/[A-Z]+\] | ^[ \t]*\[[A-Z]{2,}\])
    )[ \t]*+"""
)
_ends = marks(
    r"<[|\uff5c](?:end(?:oftext|[_\u2581]of[_\u2581](?:text|turn|sentence))?|eo[stm]\w*|im_end|return|call)[|\uff5c]>"
    r"|</s>|<eo[stm]>|<end_of_(?:turn|text|sentence)>"
)
_entities = marks(r"&(?:lt|gt|amp|quot|apos|nbsp|\#\d{1,7}|\#x[0-9a-f]{1,6});")
# Lines that IPython accepts and Python does not; a text that has them is not a program as it is.
_NOTEBOOK_LINE = re.compile(
    r"""^([ \t]*)(?:%{1,2}[a-z] | [\w., ]+=[ ]*[%!][a-z] | !{1,2}[ ]?[\w./~] | \?{1,2}[\w.]+$ | [\w.()]+\?{1,2}[ \t]*$
    | \$[ ]\w | (?:python3?[ ]-m[ ])?(?:pip3?|conda|apt-get)[ ]\w)""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_PROMPTED = re.compile(r"^[ \t]*(?:>>>|\.{3,}:?|In \[\d+\]:)(?: (.*)|)$", re.MULTILINE)
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:> ?)+", re.MULTILINE)
# A string in place of a value; the token limit may have cut it off.
_VALUE = re.compile(
    r"""[:,\[({=]\s*+(\"""(?>(?:(?!\""")(?:\\.|[^\\]))*)\"""|'''(?>(?:(?!''')(?:\\.|[^\\]))*)'''"""
    r"""|"(?:\\.|[^\\"])*+(?:"|\\?\Z)|'(?:\\.|[^\\\n'])*+')""",
    re.DOTALL,
)

# The beginning of a JSON list of strings, such as the lines of a program or of a notebook's cell.
_LIST = re.compile(r'\[\s*+"')
_MAX_LISTS = 100


def without_thinking(text: str) -> str:
    """Remove the thoughts, such as ``<think>...</think>``, from an answer.

    A closing tag without an opening tag ends a thought that began at the start of the answer. An opening tag without a
    closing tag begins a thought that the token limit cut off. Tags in strings, comments and inline code belong to the
    program. If an answer has channels (``<|channel|>analysis``), only the text of the last final channel is returned.
    """
    answer: list[str] = []
    depth, position = 0, 0
    for tag in _tags(text):
        closes, is_channel = _CLOSES.match(tag[0]), _CHANNEL.match(tag[0])
        if is_channel and closes:
            depth = 0
        if depth == 0 and closes:
            answer.clear()
        elif depth == 0:
            answer.append(text[position : tag.start()])
        depth = max(0, depth - 1) if closes else 1 if is_channel else depth + 1
        position = tag.end()
    if depth == 0:
        answer.append(text[position:])
    return "".join(answer)


def readings(text: str, entry_point: str) -> Iterator[str]:
    """Yield versions of an answer in which to search for the program: cut at an end token, unchanged, and unwrapped.

    Wrappings are HTML entities, ``>>>`` prompts, ``>`` quote marks, and JSON or Python strings with the program inside.
    """
    name = re.escape(entry_point)
    definition = re.compile(rf"(?:def|class)\s+{name}\b|{name}\s*=")
    waiting, seen = [text], set[str]()
    while waiting and len(seen) < _MAX_READINGS:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen.add(current)
        if end := next(_ends(current), None):
            yield current[: end.start()]
        yield current
        if is_escaped(current):
            waiting.append(html.unescape(re.sub(r"<br ?/?>", "\n", current)).replace("\xa0", " "))
        waiting += ["\n".join(_PROMPTED.findall(current)), _QUOTE_MARKS.sub("", current)]
        values: list[str] = []
        if definition.search(current):
            values = [one for one in _joined_lists(current) if definition.search(one)]
            values = values or [_value(literal) for literal in _VALUE.findall(current)]
        if any(map(definition.search, values)):
            waiting.append("".join(f"```\n{value}\n```\n" for value in values))


def _joined_lists(text: str) -> Iterator[str]:
    """Yield each JSON list of strings in ``text``, joined by line ends unless the strings already have line ends."""
    decoder, end = json.JSONDecoder(strict=False), 0
    for found in islice(_LIST.finditer(text), _MAX_LISTS):
        if found.start() < end:
            continue
        with suppress(ValueError, RecursionError):
            lines, end = decoder.raw_decode(text, found.start())
            if all(isinstance(line, str) for line in lines):
                yield ("" if any(line.endswith("\n") for line in lines) else "\n").join(lines)


def _value(literal: str) -> str:
    """Decode the literal of a JSON or Python string; return an empty text for any other literal."""
    for closed in (literal, literal.rstrip("\\") + '"'):
        with suppress(ValueError):
            return str(json.loads(closed, strict=False))
    match parse_or_none(literal):
        case ast.Module(body=[ast.Expr(value=ast.Constant(value=str(value)))]):
            return value
    return ""


def is_escaped(text: str) -> bool:
    """Tell if a text has HTML entities outside strings, even entities that Python can parse, as in ``a &lt; b``."""
    return next(_entities(text), None) is not None


def ends_within_fence(text: str) -> bool:
    """Tell if a text ends inside a code block whose closing fence is missing, for example due to a token limit."""
    languages = _FENCE.findall(f"\n{text}\n")
    return bool(languages) and (len(languages) % 2 == 1 or bool(languages[-1]))


def fenced_texts(text: str) -> list[str]:
    """Return the parts of a text between fence lines, without common indentation; empty if there is no fence.

    The part before the first fence is included: the answer to a prefilled prompt begins inside a code block. Blocks in
    other languages than Python are left out.
    """
    before, *rest = _FENCE.split(f"\n{text}\n")  # then the language of each fence and the text after it
    if not rest:
        return []
    rest[-1] = rest[-1].removesuffix("\n")
    found = [
        before,
        *(part for language, part in zip(rest[::2], rest[1::2], strict=True) if _PYTHON.fullmatch(language)),
    ]
    return [dedented(part.removeprefix("\n")) for part in found if part.strip()]


def marked_texts(text: str) -> list[str]:
    """Return the parts of a text between tags, special tokens and fences; empty if only fence lines split the text."""
    whole, found = fenced_texts(text) or [text], list[str]()
    for part in whole:
        ends = [0, *(place for mark in _boundaries(part) for place in mark.span()), len(part)]
        found += [part[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
    return [dedented(part.strip("\n")) for part in found if part.strip()] if len(found) > len(whole) else []


def without_notebook_lines(text: str) -> str:
    """Replace lines that only IPython accepts (magics, shell commands, help such as ``name?``) by ``pass``."""
    if not _NOTEBOOK_LINE.search(text):
        return text
    lines, number, goes_on = text.split("\n"), 0, None
    logical = logical_lines(lines)
    while number < len(lines):
        magic, line = goes_on or _NOTEBOOK_LINE.match(lines[number]), logical[number]
        if magic:
            goes_on = magic if lines[number].endswith("\\") else None
            lines[number] = f"{magic[1]}pass"
        number = line.end + 1 if line and not magic else number + 1
    return "\n".join(lines)


def dedented(text: str) -> str:
    """Remove the indentation that all lines share, if the first line that is not blank is indented."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    return textwrap.dedent(text) if first[:1] in {" ", "\t"} else text
