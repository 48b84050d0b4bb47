"""Remove the thoughts of an answer: text between tags such as ``<think>``, which is not part of the reply itself."""

import re
from collections.abc import Callable, Iterator

# A string, a comment or inline code. An apostrophe within a word opens no string; neither does a triple quote whose
# string a fence line interrupts, since prose mentions quotes too; a fence inside a comment ends the comment. Python
# 3.11.2 matches nothing if a possessive repeat holds a lookahead; an atomic group means the same and works everywhere.
_QUOTED = r"""
    \"""(?>(?:\\.|(?!\"""|\n[ \t]*```)[^\\])*)\"""  |  '''(?>(?:\\.|(?!'''|\n[ \t]*```)[^\\])*)'''
    | "(?:\\.|[^\\\n"])*+"  |  (?<!\w)[rbfu]{0,2}'(?:\\.|[^\\\n'])*+'
    | (?<!\S)\#(?>(?:(?!```)[^\n])*)  |  (?<!`)`[^`\n]++`(?!`)
"""


def marks(pattern: str) -> Callable[[str], Iterator[re.Match[str]]]:
    """Return a function that finds matches of a verbose pattern in a text, outside strings and comments."""
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


def without_thinking(text: str) -> str:
    """Remove the thoughts of an answer; a closing tag alone ends a thought that began with the answer.

    An opening tag alone begins a thought that the token limit cut off. Tags in strings, comments and inline code belong
    to the program. If an answer has channels, the last final channel counts.
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
