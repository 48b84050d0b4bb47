"""Make texts of models harmless where they are shown: terminals, Markdown and spreadsheets would interpret them."""

import re

from rich.cells import cell_len

ELLIPSIS = "…"

#: Control characters except line feed and tab; characters that reverse, hide or break the text around them.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
#: Markup anywhere in a line; an underscore outside a word (names stay readable); markup at the start of a line.
_MARKDOWN = re.compile(r"[\\`*\[\]|~&$]|(?<![^\W_])_|_(?![^\W_])|^>|^#+(?= |$)|^[-+](?= |$)")
_FENCES = re.compile(r"`{3,}")


def visible(text: str) -> str:
    r"""Replace every control character by its escape, such as ``\x1b``, so that it has no effect on a terminal.

    Line feeds and tabs are kept.
    """
    return _UNSEEN.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    """Return the text in one line, with control characters escaped (see `visible`)."""
    return " ".join(visible(text).split())


def markdown_text(text: str) -> str:
    """Return the text as one line of Markdown with all markup escaped, also usable as the cell of a table."""
    return _MARKDOWN.sub(r"\\\g<0>", one_line(text)).replace("<", "&lt;")


def markdown_block(text: str, language: str = "") -> str:
    """Return the text as a fenced Markdown block, whose fence is longer than every fence in the text."""
    longest = max((len(fence) for fence in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    shown = visible(text).removesuffix("\n")
    return f"{fence}{language}\n{shown}\n{fence}"


def csv_cell(text: str) -> str:
    """Return the text as one line that no spreadsheet interprets as a formula."""
    line = one_line(text)
    return f"'{line}" if line[:1] in {"=", "+", "-", "@"} else line


def elided(text: str, width: int) -> str:
    """Shorten a text to at most `width` columns of a terminal: keep its beginning and its end.

    Similar names often differ only at their end, which a plain cut would remove.
    """
    if cell_len(text) <= width:
        return text
    tail = max(width - 1, 0) // 2
    head = max(width - 1 - tail, 0)
    while cell_len(shown := f"{text[:head]}{ELLIPSIS}{text[len(text) - tail :]}") > width and head:
        head, tail = (head - 1, tail) if head > tail else (head, tail - 1)  # wide characters take two columns
    return shown if width > 0 else ""
