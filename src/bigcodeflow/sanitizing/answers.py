"""The parts of a model's answer: thinking and fences."""

import re
import textwrap

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*+(?:[-*>][ \t]++)?(?:`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^`\n]*+")
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "python2", "code", "tool_code"})


def readable(text: str) -> str:
    """The text with newlines as its only line ends and without the NUL bytes and the mark that no program may hold."""
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")


def without_thinking(text: str) -> str:
    """What an answer says aloud.

    A closed thought is removed; a closing tag alone ends a thought that began with the answer, and an
    opening tag alone begins one that the token limit cut off.
    """
    spoken: list[str] = []
    depth, position = 0, 0
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                spoken.append(text[position : tag.start()])
            depth += 1
        else:
            if depth == 0:
                spoken.clear()
            depth = max(0, depth - 1)
        position = tag.end()
    if depth == 0:
        spoken.append(text[position:])
    return "".join(spoken)


def passages(text: str) -> list[str]:
    """The texts between fence lines, in order and without common indentation; empty where there is no fence.

    What lies before a first fence counts, too: answers to a prefilled prompt begin within a fence. What a fence
    declares as another language does not.
    """
    found: list[str] = []
    lines: list[str] = []
    foreign, fenced = False, False
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            lines.append(line)
            continue
        if not foreign:
            found.append(dedented("\n".join(lines)))
        foreign, fenced, lines = fence[1].lower() not in _PYTHON, True, []
    if not foreign:
        found.append(dedented("\n".join(lines)))
    return [passage for passage in found if passage.strip()] if fenced else []


def dedented(text: str) -> str:
    """The text without the indentation that its lines share, where its first line is indented."""
    first = next((line for line in text.split("\n") if line.strip()), "")
    return textwrap.dedent(text) if first[:1] in {" ", "\t"} else text
