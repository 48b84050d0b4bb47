"""What the overview is made of: titled sections, each with a chart, a table, or both."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import urlencode

import pyarrow as pa

Cell = str | dict[str, str]
"""Text, or text with 'href' (a place in this page) and 'tone' (good, bad, warn)."""


class Column(NamedTuple):
    """A table's column: its heading, and whether its cells are text or numbers, which stand at the right."""

    name: str
    kind: Literal["text", "number"] = "text"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the overview. The page writes every string as text, never as markup."""

    name: str
    """Place in the page; letters and hyphens only."""
    title: str
    lead: str
    """A sentence or two that say how to read it."""
    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Cell]] = ()
    chart: Mapping[str, Any] | None = None
    """A Vega-Lite specification; the table beneath it then opens on demand."""
    notes: Sequence[str] = ()
    """Warnings that stand above everything else."""
    board: str = ""
    """Subset and split that it is about, where a report has several."""

    def as_json(self) -> dict[str, Any]:
        """The section as the page reads it."""
        # Not asdict, which copies every cell of tables with thousands of rows.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def of_board(self, board: str) -> Self:
        """The same section as one of those about a board."""
        return replace(self, name=f"{self.name}-{re.sub('[^a-z]+', '-', board.lower())}", board=board)


def table_section(name: str, title: str, lead: str, table: pa.Table) -> Section:
    """A section that shows a ready table as it is, such as the pairs of a comparison.

    Numbers keep four significant digits; a list's members are joined by commas; null is an empty cell.
    """
    columns = [
        Column(entry.name.replace("_", " "), "number" if _is_number(entry.type) else "text") for entry in table.schema
    ]
    rows = [[_worded(value) for value in row.values()] for row in table.to_pylist()]
    return Section(name, title, lead, columns, rows)


def samples_link(text: str, **filters: str) -> dict[str, str]:
    """A cell that opens the samples that fit the filters: q (words), run, status, kind."""
    return {"text": text, "href": f"#{urlencode({'view': 'samples', **filters})}"}


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _worded(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(_worded(member) for member in value)
    return str(value)
