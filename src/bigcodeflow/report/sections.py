"""What the overview is made of: titled sections, each with a chart, a table, or both."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlencode

from bigcodeflow.core.table import Cell, Column, Table
from bigcodeflow.report import charts
from bigcodeflow.report.charts import ScorePoint, Spec

_NO_TABLE = Table((), ())


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the overview. The page writes every string as text, never as markup."""

    name: str
    """Place in the page; letters and hyphens only."""
    title: str
    lead: str
    """A sentence or two that say how to read it."""
    table: Table = _NO_TABLE
    """Its notes are warnings, which stand above everything else."""
    chart: Mapping[str, Any] | None = None
    """A Vega-Lite specification; the table beneath it then opens on demand."""
    board: str = ""
    """Subset and split that it is about, where a report has several."""

    def as_json(self) -> dict[str, Any]:
        """The section as the page reads it; a cell is text, or text with 'href' (a place in the page) and 'tone'."""
        columns = [(one.heading, "number" if one.align == "right" else "text") for one in self.table.columns]
        rows = [
            [_cell_json(cell, text) for cell, text in zip(cells, texts, strict=True)]
            for cells, texts in zip(self.table.rows, self.table.texts(), strict=True)
        ]
        own = {name: getattr(self, name) for name in ("name", "title", "lead", "chart", "board")}
        return own | {"columns": columns, "rows": rows, "notes": self.table.notes}

    def of_board(self, board: str) -> Self:
        """The same section as one of those about a board."""
        return replace(self, name=f"{self.name}-{re.sub('[^a-z]+', '-', board.lower())}", board=board)


def _cell_json(cell: object, text: str) -> str | dict[str, str]:
    if not isinstance(cell, Cell):
        return text
    more = {"text": text, "href": cell.href, "tone": cell.tone}
    return {name: value for name, value in more.items() if value or name == "text"}


def numbers(*headings: str) -> list[Column]:
    """Columns that stand at the right."""
    return [Column(heading, "right") for heading in headings]


def samples_link(text: str, **filters: str) -> Cell:
    """A cell that opens the samples that fit the filters: q (words), run, status, kind."""
    return Cell(text, href=f"#{urlencode({'view': 'samples', **filters})}")


def score_point(name: str, run: str, value: float, ends: Sequence[float | None] | None, n_tasks: int) -> ScorePoint:
    """A score, a share in 0..1, for a chart; the ends are those of its 95 % interval, where there is one."""
    low, high = (None if end is None else 100 * end for end in ends or (None, None))
    if low is None or high is None:
        low = high = None
    return {"name": name, "run": run, "value": 100 * value, "low": low, "high": high, "tasks": n_tasks}


def point_table(points: Sequence[ScorePoint]) -> Table:
    """The points of a chart as the table beneath it."""
    rows = []
    for point in points:
        ends = "" if point["low"] is None else f"{point['low']:.1f} to {point['high']:.1f}"
        rows.append((point["name"], point["run"], f"{point['value']:.1f} %", ends, point["tasks"]))
    return Table.of(["what", "run", *numbers("score", "95 % interval", "tasks")], rows)


def slice_chart(points: Sequence[ScorePoint], *, title: str, names: Sequence[str], runs: Sequence[str]) -> Spec:
    """Scores on slices: dots with whiskers for as many runs as colours can tell apart, a heat map for more."""
    if len(runs) > charts.MOST_COLOURS:
        return charts.heat_map(points, title=title, names=names, runs=runs)
    return charts.intervals(points, title=title, names=names)
