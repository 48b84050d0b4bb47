"""Texts of models, made harmless for the place where they are shown: terminals, Markdown and spreadsheets obey them."""

import re

from bigcodeflow.core.tracebacks import exception_line

#: Control characters but line feed and tab; marks that reverse, hide or break the reading of what surrounds them.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#!~&$])")
_FENCES = re.compile(r"`{3,}")


def visible(text: str) -> str:
    r"""The text with every control character spelled out, such as ``\x1b``, so that a terminal shows it and obeys none.

    Line feeds and tabs stay.
    """
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """The visible text in one line."""
    return " ".join(visible(text).split())


def reason(trace: str, end: str) -> str:
    """Why a sample failed, in one line: the exception, the first line of another text, or how the sandbox ended."""
    return one_line(exception_line(trace) or trace.strip().partition("\n")[0] or end)


def markdown_text(text: str) -> str:
    """The text as one line of Markdown that is no markup, also as a table's cell."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def markdown_block(text: str, language: str = "") -> str:
    """The text as a fenced block that no fence within it can end."""
    longest = max((len(fence) for fence in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    shown = visible(text).removesuffix("\n")
    return f"{fence}{language}\n{shown}\n{fence}"


def csv_cell(text: str) -> str:
    """The text as one line that no spreadsheet takes for a formula."""
    line = one_line(text)
    return f"'{line}" if line[:1] in {"=", "+", "-", "@"} else line
