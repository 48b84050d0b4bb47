"""The leaderboard as one HTML page that needs nothing else: no network, no further file."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple

from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.leaderboard.boards import Board, Place, boards
from bigcodeflow.results.leaderboard.entries import Entry
from bigcodeflow.results.leaderboard.history import Snapshot
from bigcodeflow.results.leaderboard.wording import day, interval_of, judged_by, points, score

_TEMPLATE = Path(__file__).with_name("page.html")


class _Column(NamedTuple):
    title: str
    kind: Literal["number", "text"]
    first: str
    """Order of the first click: the best on top."""


_COLUMNS = (
    _Column("place", "number", "ascending"),
    _Column("model", "text", "ascending"),
    _Column("origin", "text", "ascending"),
    _Column("pass@1", "number", "descending"),
    _Column("95 % interval", "number", "descending"),
    _Column("published", "number", "descending"),
    _Column("difference", "number", "descending"),
    _Column("samples", "number", "descending"),
    _Column("ground truths", "number", "descending"),
    _Column("setting", "text", "ascending"),
    _Column("judged by", "text", "ascending"),
    _Column("evaluated", "text", "descending"),
    _Column("run", "text", "ascending"),
)


def page(snapshot: Snapshot) -> str:
    """The page: a sortable table a subset and split, and where each score of ours comes from."""
    found = list(boards(snapshot.entries))
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        name=escape(snapshot.name),
        taken=escape(snapshot.taken_at.strftime("%Y-%m-%d %H:%M UTC")),
        links="\n".join(f'<li><a href="#{board.anchor}">{escape(board.title)}</a></li>' for board in found),
        boards="\n".join(_section(board) for board in found),
        runs="\n".join(_runs(snapshot)),
    )


def _section(board: Board) -> str:
    heads = "".join(_head(column) for column in _COLUMNS)
    rows = "\n".join(_row(place) for place in board.places)
    return (
        f'<section id="{board.anchor}" aria-labelledby="{board.anchor}-title">\n'
        f'<h2 id="{board.anchor}-title">{escape(board.title)}</h2>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{board.anchor}-title"><table>\n'
        f"<caption>{len(board.places):,} entries, the best first; a column's heading sorts by it.</caption>\n"
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n</section>"
    )


def _head(column: _Column) -> str:
    sorted_now = ' aria-sort="ascending"' if column.title == "place" else ""
    kind = ' class="number"' if column.kind == "number" else ""
    button = f'<button type="button">{escape(column.title)}</button>'
    return f'<th scope="col" data-first="{column.first}"{kind}{sorted_now}>{button}</th>'


def _row(place: Place) -> str:
    entry = place.entry
    remarks = "".join(f"<br><small>allowed: {escape(remark)}</small>" for remark in entry.remarks)
    record = escape(entry.run.record) if entry.run else ""
    link = f'<a href="#run-{record}">{record}</a>' if record else ""
    cells = (
        _number(place.place, str(place.place)),
        f'<th scope="row">{escape(entry.title)}{remarks}</th>',
        f"<td>{entry.origin}</td>",
        _number(entry.pass_at_1, score(entry.pass_at_1)),
        _number(entry.ci_low, interval_of(entry)),
        _number(place.published, score(place.published)),
        _number(place.difference_points, points(place.difference_points)),
        _number(entry.n_samples, "" if entry.n_samples is None else f"{entry.n_samples:,}"),
        _number(entry.ground_truth_rate, score(entry.ground_truth_rate)),
        f"<td>{escape(entry.setting)}</td>",
        f"<td>{escape(judged_by(entry))}</td>",
        f"<td>{day(entry)}</td>",
        f"<td>{link}</td>",
    )
    searched = escape(f"{entry.title} {entry.setting}")
    return f'<tr class="{entry.origin}" data-origin="{entry.origin}" data-text="{searched}">{"".join(cells)}</tr>'


def _number(value: float | None, text: str) -> str:
    """A cell that sorts by the value itself, not by its rounded text."""
    return f'<td class="number" data-value="{"" if value is None else value}">{escape(text)}</td>'


def _runs(snapshot: Snapshot) -> Iterator[str]:
    ours = {entry.run.record: entry for entry in snapshot.entries if entry.run}
    if not ours:
        return
    yield '<section aria-labelledby="runs-title">\n<h2 id="runs-title">Where our scores come from</h2>'
    for record in sorted(ours):
        facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in _facts(ours[record]))
        yield f'<article id="run-{escape(record)}">\n<h3>{escape(record)}</h3>\n<dl>{facts}</dl>\n</article>'
    yield "</section>"


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    if entry.run is None:
        return
    yield "model", entry.title
    yield "score", f"{score(entry.pass_at_1)} ({interval_of(entry)}), {entry.split}, {entry.subset}"
    yield "setting", f"{entry.setting} ({entry.setting_key})"
    yield "sanitizer", entry.sanitizer or UNKNOWN
    yield "environment", " ".join(filter(None, (entry.environment, entry.environment_sha))) or UNKNOWN
    yield "dataset", f"{entry.run.dataset} {entry.run.dataset_revision or ''}".rstrip()
    yield "measured by", entry.source
    yield "record", f"runs/{entry.run.record}.json in the store"
    yield from ((f"{stage} artifact", key) for stage, key in sorted(entry.run.artifacts.items()))
