"""Changes of scores since the previous night, and trends over the nights."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bigcodeflow.explorer.catalog import Catalog, CatalogVersion, ListedRun, utc
from bigcodeflow.explorer.pages import Page, Visit
from bigcodeflow.report import charts
from bigcodeflow.report.charts import ScorePoint, Spec
from bigcodeflow.report.overview import score_point
from bigcodeflow.results.comparison.paired_tests import SIGNIFICANCE_LEVEL, holm, mcnemar, score_interval, sign_flip_p
from bigcodeflow.results.formatting import disambiguated
from bigcodeflow.results.models import Row
from bigcodeflow.results.statistics import Interval, student_quantile

#: Runs that started at most this long before the newest run belong to the last night.
_NIGHT = timedelta(hours=24)
_KEPT_AS = "changes"


@dataclass(frozen=True, slots=True)
class Change:
    """Change from the previous run with other verdicts to the latest run of a series, on the tasks that both score.

    Shares are in 0..1.
    """

    earlier: ListedRun
    later: ListedRun
    earlier_score: float
    later_score: float
    difference: float
    """Later score minus earlier score."""
    interval: Interval
    """95 % interval of the difference: Tango's for one sample per task, else Student's over tasks."""
    p: float
    """p-value of McNemar's test for one sample per task, else of the sign-flip test over tasks."""
    p_holm: float
    """p adjusted by Holm's method over all series."""
    n_tasks: int
    n_better: int
    n_worse: int
    """Number of tasks with a smaller share of passing samples than before."""

    @property
    def significant(self) -> bool:
        """True if p_holm is below 0.05: chance alone gives such a difference in less than 5 % of nights."""
        return self.p_holm < SIGNIFICANCE_LEVEL

    @property
    def is_worse(self) -> bool:
        """True if the score dropped significantly."""
        return self.significant and self.difference < 0

    @property
    def cause(self) -> str:
        """Text about other differences of the two runs; setting and tasks are equal in a series."""
        same = self.earlier.generation_key == self.later.generation_key
        found = ["the same answers, judged again" if same else "answered again"]
        if self.earlier.environment_sha != self.later.environment_sha:
            found.append("another environment")
        if self.earlier.harness_version != self.later.harness_version:
            found.append("another version of the judge")
        return ", ".join(found)


def changes_of(catalog: Catalog, version: CatalogVersion) -> Sequence[Change]:
    """Return the changes of all series that have two runs with different verdicts, significant drops first."""
    found: Sequence[Change] | None = version.memory.get(_KEPT_AS)
    if found is None:
        found = version.memory[_KEPT_AS] = _changes(catalog, version)
    return found


def worse(changes: Sequence[Change]) -> list[Change]:
    """Return the significant drops, in the order of ``changes``."""
    return [change for change in changes if change.is_worse]


def _changes(catalog: Catalog, version: CatalogVersion) -> list[Change]:
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
    found = [_change(*pairs[row["place"]], row) for row in rows]
    adjusted = holm([change.p for change in found])
    found = [replace(change, p_holm=p) for change, p in zip(found, adjusted, strict=True)]
    return sorted(found, key=lambda change: (not change.is_worse, change.difference, change.later.title))


def _pair(runs: Sequence[ListedRun]) -> tuple[ListedRun, ListedRun] | None:
    """Return the last run with other verdicts than the latest run, and the latest run; None if there is none."""
    later = runs[0]
    earlier = next((run for run in runs if run.execution_key not in (None, later.execution_key)), None)
    return (earlier, later) if earlier and later.execution_key and later.variant else None


def _change(earlier: ListedRun, later: ListedRun, row: Row) -> Change:
    n_tasks, better, worse_tasks = row["n_tasks"], row["n_better"], row["n_worse"]
    if row["single"]:
        interval, p = score_interval(better, worse_tasks, n_tasks), mcnemar(better, worse_tasks)
    else:
        interval = _student(row["difference"], row["deviation"], n_tasks)
        p = sign_flip_p(row["differences"])
    return Change(
        earlier=earlier,
        later=later,
        earlier_score=row["earlier_score"],
        later_score=row["later_score"],
        difference=row["difference"],
        interval=interval,
        p=p,
        p_holm=p,
        n_tasks=n_tasks,
        n_better=better,
        n_worse=worse_tasks,
    )


def _student(difference: float, deviation: float | None, n_tasks: int) -> Interval:
    """Return Student's interval of the mean of paired differences; comparisons of two runs use resampling instead."""
    spread = student_quantile(n_tasks - 1) * deviation / math.sqrt(n_tasks) if deviation and n_tasks > 1 else 0.0
    return Interval(max(-1.0, difference - spread), min(1.0, difference + spread))


def changes_page(visit: Visit) -> Page:
    """Make the page of scores that got worse or better since the previous night."""
    every = changes_of(visit.catalog, visit.version)
    newest = max((change.later.started_at for change in every), default=None)
    of_night = [change for change in every if newest and newest - change.later.started_at <= _NIGHT]
    shown = every if visit.text("all") else of_night
    return Page(
        "changes.html",
        {"changes": shown, "n_all": len(every), "n_worse": len(worse(shown)), "all": bool(visit.text("all"))},
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
    for runs in chosen:
        of_boards.setdefault(runs[0].board, []).append(runs)
    drawn = [_trend(name, of_board) for name, of_board in sorted(of_boards.items())]
    return Page(
        "trends.html",
        {"trends": drawn, "models": models, "boards": boards, "model": model, "board": board, "n_series": len(chosen)},
    )


def _trend(board: str, series: Sequence[Sequence[ListedRun]]) -> dict[str, Any]:
    """Return the series of a board: a chart of the longest series, and the numbers of all."""
    names = _names(series)
    drawn = [index for index, runs in enumerate(series) if len(runs) > 1][: charts.MOST_COLOURS]
    points = [point for index in drawn for point in _points(names[index], series[index])]
    labels = [names[index] for index in drawn]
    rows = [_row(name, runs) for name, runs in zip(names, series, strict=True)]
    return {"board": board, "chart": _chart(points, labels), "rows": rows, "n_drawn": len(drawn)}


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


def _chart(points: Sequence[ScorePoint], labels: Sequence[str]) -> Spec | None:
    return charts.trend(points, title="score, %", runs=labels) if points else None


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
