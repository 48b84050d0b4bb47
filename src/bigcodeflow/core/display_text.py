"""Texts of models, made harmless for the place where they are shown: terminals, Markdown and spreadsheets obey them."""

import re

from rich.cells import cell_len

ELLIPSIS = "…"

#: Control characters but line feed and tab; marks that reverse, hide or break the reading of what surrounds them.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
#: What is markup anywhere in a line, an underscore outside of a word (so that names stay readable), and what is markup
#: at the start of a line.
_MARKDOWN = re.compile(r"[\\`*\[\]|~&$]|(?<![^\W_])_|_(?![^\W_])|^>|^#+(?= |$)|^[-+](?= |$)")
_FENCES = re.compile(r"`{3,}")


def visible(text: str) -> str:
    r"""The text with every control character spelled out, such as ``\x1b``, so that a terminal shows it and obeys none.

    Line feeds and tabs stay.
    """
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """The visible text in one line."""
    return " ".join(visible(text).split())


def markdown_text(text: str) -> str:
    """The text as one line of Markdown that is no markup, also as a table's cell."""
    return _MARKDOWN.sub(r"\\\g<0>", one_line(text)).replace("<", "&lt;")


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


def elided(text: str, width: int) -> str:
    """The text in at most so many columns of a terminal; of a longer one the beginning and the end stay.

    What tells two names apart often stands at their end, where a plain cut would take it away.
    """
    if cell_len(text) <= width:
        return text
    tail = max(width - 1, 0) // 2
    head = max(width - 1 - tail, 0)
    while cell_len(shown := f"{text[:head]}{ELLIPSIS}{text[len(text) - tail :]}") > width and head:
        head, tail = (head - 1, tail) if head > tail else (head, tail - 1)  # wide characters take two columns
    return shown if width > 0 else ""
