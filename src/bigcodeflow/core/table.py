"""A table of results, declared once and rendered for the terminal and as Markdown.

Cells may hold text of a model: each renderer makes them harmless for its output (``core.display_text``), so that
callers pass texts unchanged. A rich console prints a table directly: ``console.print(table)``.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from bigcodeflow.core.display_text import elided, markdown_text, visible

Alignment = Literal["left", "right", "center"]
Tone = Literal["", "good", "bad", "warning", "strong"]

_STYLES: Mapping[Tone, str] = {"": "", "good": "green", "bad": "red", "warning": "yellow", "strong": "bold"}
_RULES: Mapping[Alignment, str] = {"left": "---", "right": "--:", "center": ":-:"}
_SHORTEST_NAME = 12
#: Lengths up to which no word is cut; the first with which the columns fit is taken.
_WORD_LENGTHS = (40, 30, 20)
#: Characters that a rich table takes in addition to its cells' text: one per border, two around each cell.
_BORDER, _PADDING = 1, 2


class Cell(NamedTuple):
    """A value that is emphasized or has a link."""

    value: Any
    tone: Tone = ""
    href: str = ""
    """Target of a link; in HTML only."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table: heading, alignment, format of values, and width."""

    heading: str
    align: Alignment = "left"
    format: Callable[[Any], str] | None = None
    """Function that converts a value other than None to text; ``cell_text`` by default."""
    wrap: Literal["fold", "never", "elide"] = "fold"
    """Handling of text on a narrow terminal: wrap it, keep it in one line, or leave out its middle."""
    min_width: int = 0
    """Minimum width in characters on a terminal; shorter texts need less."""

    def text(self, cell: Any) -> str:
        """Return the cell as text, not yet escaped for any output."""
        value = cell.value if isinstance(cell, Cell) else cell
        return cell_text(value) if self.format is None or value is None else self.format(value)

    def least_width(self, texts: Iterable[str], longest: int) -> int:
        """Return the least column width that cuts no word of the texts, except words longer than ``longest``."""
        if self.wrap == "elide":
            return max(self.min_width, _SHORTEST_NAME)
        if self.wrap == "never":
            return max(cell_len(line) for text in texts for line in text.split("\n"))
        words = (word for text in texts for word in text.split())
        return max(1, self.min_width, *(min(cell_len(word), longest) for word in words))


#: Columns of a table; a text makes a column that is aligned left.
Headings = Iterable[str | Column]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; a cell is a value or a ``Cell``."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    notes: Sequence[str] = ()
    """Sentences above the table."""

    @classmethod
    def of(
        cls,
        headings: Headings,
        rows: Iterable[Sequence[Any]],
        *,
        title: str = "",
        notes: Sequence[str] = (),
    ) -> Self:
        """Make a table; a heading given as a text becomes a left-aligned column."""
        columns = [one if isinstance(one, Column) else Column(one) for one in headings]
        return cls(columns, list(rows), title, notes)

    @classmethod
    def of_records(
        cls, records: Sequence[Mapping[str, Any]], *, title: str = "", columns: Iterable[Column] = ()
    ) -> Self:
        """Make a table of mappings whose keys are the headings; ``columns`` replace columns with the same heading."""
        known = {column.heading: column for column in columns}
        headings = list(records[0]) if records else []
        return cls.of([known.get(one, one) for one in headings], [list(row.values()) for row in records], title=title)

    def texts(self) -> Iterator[list[str]]:
        """Yield each row's cells as text, not yet escaped for any output."""
        for row in self.rows:
            yield [column.text(cell) for column, cell in zip(self.columns, row, strict=True)]

    def to_markdown(self, *, level: int = 3) -> str:
        """Return title (as a heading of ``level``), notes and rows as Markdown; an empty text if there are no rows."""
        if not self.rows:
            return ""
        headings = (markdown_text(column.heading) for column in self.columns)
        rules = (_RULES[column.align] for column in self.columns)
        rows = (map(markdown_text, row) for row in self.texts())
        lines = [f"| {' | '.join(cells)} |" for cells in (headings, rules, *rows)]
        parts = [f"{'#' * level} {markdown_text(self.title)}"] if self.title else []
        return "\n\n".join([*parts, *(f"> {markdown_text(note)}" for note in self.notes), "\n".join(lines)])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render title, notes and rows for a terminal; rich markup and control sequences in cells have no effect.

        No word is cut: if the columns are too narrow for their words, each row becomes a list of headings and values.
        """
        # Not as the table's own title, which would be wrapped at the table's width.
        if self.title:
            yield Text(visible(self.title), style="bold")
        for note in self.notes:
            yield Text(visible(note), style="yellow")
        widths = self._widths(options.max_width)
        yield self._grid(widths) if widths else self._stacked(options.max_width // 3)

    def _grid(self, widths: Sequence[int]) -> RenderableType:
        table = RichTable(show_header=any(column.heading for column in self.columns))
        for column, width in zip(self.columns, widths, strict=True):
            table.add_column(Text(visible(column.heading)), justify=column.align, overflow="fold", width=width)
        for row in self._cells():
            shown = zip(self.columns, row, strict=True)
            table.add_row(*(_Elided(cell) if column.wrap == "elide" else cell for column, cell in shown))
        return table

    def _stacked(self, heading_width: int) -> RenderableType:
        grid = RichTable.grid(padding=(0, 2))
        grid.add_column(style="bold", max_width=heading_width)
        grid.add_column(overflow="fold")
        for number, row in enumerate(self._cells()):
            if number:
                grid.add_row("", "")
            for column, cell in zip(self.columns, row, strict=True):
                if cell.plain:
                    grid.add_row(Text(visible(column.heading)), cell)
        return grid

    def _cells(self) -> Iterator[list[Text]]:
        """Yield each row's cells as a terminal shows them."""
        for row, texts in zip(self.rows, self.texts(), strict=True):
            styles = (_STYLES[cell.tone] if isinstance(cell, Cell) else "" for cell in row)
            yield [Text(visible(text), style=style) for text, style in zip(texts, styles, strict=True)]

    def _widths(self, most: int) -> list[int]:
        """Return the width of each column on a terminal of `most` characters; an empty list if words would be cut."""
        rows = [[column.heading for column in self.columns], *self.texts()]
        columns = list(zip(*(map(visible, row) for row in rows), strict=True))
        natural = [max(cell_len(line) for text in texts for line in text.split("\n")) for texts in columns]
        room = most - _BORDER - (_BORDER + _PADDING) * len(columns)
        for longest in _WORD_LENGTHS:
            least = [
                min(wanted, column.least_width(texts, longest))
                for column, texts, wanted in zip(self.columns, columns, natural, strict=True)
            ]
            if sum(least) <= room:
                return _shared(room, least, natural)
        return []


def cell_text(value: Any) -> str:
    """Return a value as text: empty for None and NaN, four significant digits of a float, commas between list items."""
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


def _shared(room: int, least: Sequence[int], natural: Sequence[int]) -> list[int]:
    """Return widths between ``least`` and ``natural`` with a sum of at most ``room``; small gaps are closed first."""
    widths, left = list(least), room - sum(least)
    by_want = sorted(range(len(widths)), key=lambda column: natural[column] - least[column])
    for position, column in enumerate(by_want):
        more = min(natural[column] - least[column], left // (len(by_want) - position))
        widths[column] += more
        left -= more
    return widths


class _Elided:
    """Renderable name in one line; its middle is left out if the column is too narrow."""

    def __init__(self, text: Text) -> None:
        self._text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the widths of the shortest readable name and of the whole name, as minimum and maximum."""
        whole = self._text.cell_len
        return Measurement(min(whole, _SHORTEST_NAME), whole)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render as much of the name as the column has room for."""
        yield Text(elided(self._text.plain, options.max_width), style=self._text.style, no_wrap=True)
