"""Explorer pages about changes of scores since the previous night, and about trends over the nights."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from bigcodeflow.explorer.catalog import Catalog, CatalogVersion, ListedRun, utc
from bigcodeflow.explorer.pages import Page, Visit
from bigcodeflow.report import charts
from bigcodeflow.report.charts import ScorePoint
from bigcodeflow.report.overview import score_point
from bigcodeflow.results.comparison.changes import Change, adjusted, cause_of, change_of
from bigcodeflow.results.formatting import disambiguated

#: Runs that started at most this long before the newest run belong to the last night.
_NIGHT = timedelta(hours=24)


def changes_of(catalog: Catalog, version: CatalogVersion) -> Sequence[Change[ListedRun]]:
    """Return the latest change of score in each series of runs, significant drops first; cached by catalog version.

    A change compares the latest run of a series with the last earlier run that has another execution artifact. A
    series without such an earlier run has no change.
    """
    return version.kept("changes", lambda: _changes(catalog, version))


def _changes(catalog: Catalog, version: CatalogVersion) -> list[Change[ListedRun]]:
    pairs = [pair for runs in version.series.values() if (pair := _pair(runs))]
    asked = [
        {
            "place": place,
            "earlier": earlier.execution_key,
            "later": later.execution_key,
            "variant": later.variant,
            "sanitizer": later.sanitizer,
            "left_out": catalog.left_out(earlier, later),
        }
        for place, (earlier, later) in enumerate(pairs)
    ]
    rows = version.rows("changes", pairs=json.dumps(asked)) if asked else []
    found = adjusted([_change(*pairs[row.pop("place")], row) for row in rows])
    return sorted(found, key=lambda change: (not change.is_worse, change.difference, change.later.title))


def _pair(runs: Sequence[ListedRun]) -> tuple[ListedRun, ListedRun] | None:
    """Return the last earlier run with another execution artifact, and the latest run; None if there is no such pair.

    ``runs`` are the runs of a series, the latest first.
    """
    later = runs[0]
    earlier = next((run for run in runs if run.execution_key not in (None, later.execution_key)), None)
    return (earlier, later) if earlier and later.execution_key and later.variant else None


def _change(earlier: ListedRun, later: ListedRun, row: Mapping[str, Any]) -> Change[ListedRun]:
    """Return the change between two runs of a series, with its cause; ``row`` is of ``sql/explorer/changes.sql``."""
    differing = {
        "another environment": earlier.environment_sha != later.environment_sha,
        "another version of the judge": earlier.harness_version != later.harness_version,
    }
    cause = cause_of(same_answers=earlier.generation_key == later.generation_key, differing=differing)
    return change_of(earlier, later, **row, cause=cause)


def changes_page(visit: Visit) -> Page:
    """Make the page of scores that got worse or better since the previous night."""
    every = changes_of(visit.catalog, visit.version)
    newest = max((change.later.started_at for change in every), default=None)
    of_night = [change for change in every if newest and newest - change.later.started_at <= _NIGHT]
    shown = every if visit.text("all") else of_night
    n_worse = sum(change.is_worse for change in shown)
    return Page(
        "changes.html", {"changes": shown, "n_all": len(every), "n_worse": n_worse, "all": bool(visit.text("all"))}
    )


def trends(visit: Visit) -> Page:
    """Make the page of scores over the nights, for the model and board in the address."""
    series = [runs for runs in visit.version.series.values() if any(run.pass_at_k is not None for run in runs)]
    models = sorted({runs[0].who for runs in series})
    boards = sorted({runs[0].board for runs in series})
    model, board = visit.text("model"), visit.text("board")
    chosen = [runs for runs in series if model in ("", runs[0].who) and board in ("", runs[0].board)]
    chosen.sort(key=lambda runs: (-len(runs), runs[0].title, runs[0].run))
    of_boards: dict[str, list[Sequence[ListedRun]]] = {}
    has_others = len({runs[0].benchmark for runs in chosen}) > 1
    for runs in chosen:
        prefix = "starter · " if has_others and runs[0].benchmark == "starter" else ""
        of_boards.setdefault(prefix + runs[0].board, []).append(runs)
    ends = [
        end for runs in chosen for run in runs for end in (run.ci_low, run.ci_high, run.pass_at_k) if end is not None
    ]
    # All charts and courses of the page have this scale, in whole tens of percent.
    low = min(90.0, 10.0 * math.floor(10 * min(ends, default=0)))
    scale = (low, max(low + 10, 10.0 * math.ceil(10 * max(ends, default=1))))
    drawn = [_trend(name, of_board, scale) for name, of_board in sorted(of_boards.items())]
    return Page(
        "trends.html",
        {
            "trends": drawn,
            "scale": scale,
            "models": models,
            "boards": boards,
            "model": model,
            "board": board,
            "n_series": len(chosen),
        },
    )


def _trend(board: str, series: Sequence[Sequence[ListedRun]], scale: tuple[float, float]) -> dict[str, Any]:
    """Return the template's variables for a board: a chart of its longest series, and a table row for each series."""
    names = _names(series)
    drawn = [index for index, runs in enumerate(series) if len(runs) > 1][: charts.MOST_COLOURS]
    points = [point for index in drawn for point in _points(names[index], series[index])]
    labels = [names[index] for index in drawn]
    rows = [_row(name, runs) for name, runs in zip(names, series, strict=True)]
    chart = charts.trend(points, title="score, %", runs=labels, domain=scale) if points else None
    return {"board": board, "chart": chart, "rows": rows, "n_drawn": len(drawn)}


def _names(series: Sequence[Sequence[ListedRun]]) -> list[str]:
    """Name each series by its model; add the details that differ if several series have the same model."""
    latest = [runs[0] for runs in series]
    details = (
        [run.setting for run in latest],
        [f"{run.n_tasks:,} tasks" if run.n_tasks else "" for run in latest],
        [run.variant or "" for run in latest],
        [run.sanitizer or "" for run in latest],
        [run.address or "" for run in latest],
        [f"dataset {(run.dataset_key or '')[:8]}" for run in latest],
        [run.run for run in latest],
    )
    return disambiguated([run.who for run in latest], details)


def _points(name: str, runs: Sequence[ListedRun]) -> list[ScorePoint]:
    found: list[ScorePoint] = []
    for run in reversed(runs):
        if run.pass_at_k is None:
            continue
        began = utc(run.started_at)
        point = score_point(f"{began:%Y-%m-%d %H:%M}", name, run.pass_at_k, (run.ci_low, run.ci_high), run.n_tasks or 0)
        found.append({**point, "x": 1000 * began.timestamp()})
    return found


def _row(name: str, runs: Sequence[ListedRun]) -> Mapping[str, Any]:
    scored = [run for run in runs if run.pass_at_k is not None]
    values = [run.pass_at_k for run in scored if run.pass_at_k is not None]
    return {
        "name": name,
        "runs": runs,
        "latest": scored[0],
        "before": scored[1] if len(scored) > 1 else None,
        "low": min(values),
        "high": max(values),
    }
