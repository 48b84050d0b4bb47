"""A table of results, declared once and rendered for the terminal and as Markdown.

Cells may hold what a model wrote: each renderer makes them harmless for its place (``core.display_text``), so that
callers pass texts as they are. A rich console prints a table as it is: ``console.print(table)``.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from rich.cells import cell_len

from bigcodeflow.core.display_text import elided, markdown_text, visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.measure import Measurement

Alignment = Literal["left", "right", "center"]
Tone = Literal["", "good", "bad", "warning", "strong"]

_STYLES: Mapping[Tone, str] = {"": "", "good": "green", "bad": "red", "warning": "yellow", "strong": "bold"}
_RULES: Mapping[Alignment, str] = {"left": "---", "right": "--:", "center": ":-:"}
_SHORTEST_NAME = 12


class Cell(NamedTuple):
    """A value that stands out, or that leads somewhere."""

    value: Any
    tone: Tone = ""
    href: str = ""
    """Where a click leads; in HTML only."""


@dataclass(frozen=True, slots=True)
class Column:
    """A table's column."""

    heading: str
    align: Alignment = "left"
    format: Callable[[Any], str] | None = None
    """How a value that is not None becomes text; by default as ``cell_text`` does it."""
    wrap: Literal["fold", "never", "elide"] = "fold"
    """Where a terminal is too narrow: the text is wrapped, stays in one line, or loses its middle."""
    min_width: int | None = None
    """Characters in a terminal."""

    def text(self, cell: Any) -> str:
        """The cell as text, not yet escaped for any place."""
        value = cell.value if isinstance(cell, Cell) else cell
        return cell_text(value) if self.format is None or value is None else self.format(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; a cell is a value or a ``Cell``."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    notes: Sequence[str] = ()
    """Sentences that stand above the table."""

    @classmethod
    def of(
        cls,
        headings: Iterable[str | Column],
        rows: Iterable[Sequence[Any]],
        *,
        title: str = "",
        notes: Sequence[str] = (),
    ) -> Self:
        """A table whose columns are headings, of text that is aligned left, or columns."""
        columns = [one if isinstance(one, Column) else Column(one) for one in headings]
        return cls(columns, list(rows), title, notes)

    @classmethod
    def of_records(
        cls, records: Sequence[Mapping[str, Any]], *, title: str = "", columns: Iterable[Column] = ()
    ) -> Self:
        """A table of mappings with equal keys: the headings; ``columns`` are those that need more than one."""
        known = {column.heading: column for column in columns}
        headings = list(records[0]) if records else []
        return cls.of([known.get(one, one) for one in headings], [list(row.values()) for row in records], title=title)

    def texts(self) -> Iterator[list[str]]:
        """Each row's cells as text, not yet escaped for any place."""
        for row in self.rows:
            yield [column.text(cell) for column, cell in zip(self.columns, row, strict=True)]

    def to_markdown(self, *, level: int = 3) -> str:
        """Title, as a heading of a level, notes and table; without rows an empty text."""
        if not self.rows:
            return ""
        headings = (markdown_text(column.heading) for column in self.columns)
        rules = (_RULES[column.align] for column in self.columns)
        rows = (map(markdown_text, row) for row in self.texts())
        lines = [f"| {' | '.join(cells)} |" for cells in (headings, rules, *rows)]
        parts = [f"{'#' * level} {markdown_text(self.title)}"] if self.title else []
        return "\n\n".join([*parts, *(f"> {markdown_text(note)}" for note in self.notes), "\n".join(lines)])

    def __rich__(self) -> "RenderableType":
        """Title, notes and table for a terminal; no cell is taken for rich's markup or for a control sequence."""
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(show_header=any(column.heading for column in self.columns))
        for column in self.columns:
            heading, wraps = Text(visible(column.heading)), column.wrap != "never"
            table.add_column(
                heading, justify=column.align, overflow="fold", no_wrap=not wraps, min_width=column.min_width
            )
        for row, texts in zip(self.rows, self.texts(), strict=True):
            styles = (_STYLES[cell.tone] if isinstance(cell, Cell) else "" for cell in row)
            table.add_row(
                *(
                    _Elided(visible(text), style) if column.wrap == "elide" else Text(visible(text), style=style)
                    for column, text, style in zip(self.columns, texts, styles, strict=True)
                )
            )
        # Not as the table's own title, which would be folded to the table's width.
        above = [Text(visible(self.title), style="bold")] if self.title else []
        return Group(*above, *(Text(visible(note), style="yellow") for note in self.notes), table)


def cell_text(value: Any) -> str:
    """A value in words: nothing for None and NaN, four significant digits of a float, a list's members with commas."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return "" if math.isnan(value) else f"{value:.4g}"
        case list() | tuple():
            return ", ".join(map(cell_text, value))
        case _:
            return str(value)


class _Elided:
    """A name in one line; where its column is too narrow, the middle is left out."""

    def __init__(self, text: str, style: str) -> None:
        self._text, self._style = text, style

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        """From what still says something to the whole name."""
        from rich.measure import Measurement

        whole = cell_len(self._text)
        return Measurement(min(whole, _SHORTEST_NAME), whole)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """As much as the column has room for."""
        from rich.text import Text

        yield Text(elided(self._text, options.max_width), style=self._style, no_wrap=True)
