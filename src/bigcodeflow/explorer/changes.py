"""What changed from each night to the one before, and scores over the nights."""

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

#: Runs that began no longer before the newest one belong to the last night.
_NIGHT = timedelta(hours=24)
_KEPT_AS = "changes"


@dataclass(frozen=True, slots=True)
class Change:
    """The latest run of a series beside the last one with other verdicts, on the tasks that both score.

    Shares are in 0..1.
    """

    earlier: ListedRun
    later: ListedRun
    earlier_score: float
    later_score: float
    difference: float
    """The later score less the earlier one."""
    interval: Interval
    """95 % interval of the difference: Tango's for one sample a task, else Student's over tasks."""
    p: float
    """McNemar's for one sample a task, else that of the sign-flip test over tasks."""
    p_holm: float
    """p adjusted by Holm over all series."""
    n_tasks: int
    n_better: int
    n_worse: int
    """Tasks of which fewer samples pass than before."""

    @property
    def significant(self) -> bool:
        """Chance alone gives such a difference in less than 5 % of nights, all series considered."""
        return self.p_holm < SIGNIFICANCE_LEVEL

    @property
    def is_worse(self) -> bool:
        """A drop that chance does not explain."""
        return self.significant and self.difference < 0

    @property
    def cause(self) -> str:
        """Say what else differs; setting and tasks are the same in a series."""
        same = self.earlier.generation_key == self.later.generation_key
        found = ["the same answers, judged again" if same else "answered again"]
        if self.earlier.environment_sha != self.later.environment_sha:
            found.append("another environment")
        if self.earlier.harness_version != self.later.harness_version:
            found.append("another version of the judge")
        return ", ".join(found)


def changes_of(catalog: Catalog, version: CatalogVersion) -> Sequence[Change]:
    """The change of every series that has two runs, what got worse first."""
    found: Sequence[Change] | None = version.memory.get(_KEPT_AS)
    if found is None:
        found = version.memory[_KEPT_AS] = _changes(catalog, version)
    return found


def worse(changes: Sequence[Change]) -> list[Change]:
    """Drops that chance does not explain, the largest first."""
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
    """The last run before the latest that has other verdicts, and the latest."""
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
    """Interval of the mean of paired differences; the comparison of two runs resamples instead."""
    spread = student_quantile(n_tasks - 1) * deviation / math.sqrt(n_tasks) if deviation and n_tasks > 1 else 0.0
    return Interval(max(-1.0, difference - spread), min(1.0, difference + spread))


def changes_page(visit: Visit) -> Page:
    """What got worse and better since the night before."""
    every = changes_of(visit.catalog, visit.version)
    newest = max((change.later.started_at for change in every), default=None)
    of_night = [change for change in every if newest and newest - change.later.started_at <= _NIGHT]
    shown = every if visit.text("all") else of_night
    return Page(
        "changes.html",
        {"changes": shown, "n_all": len(every), "n_worse": len(worse(shown)), "all": bool(visit.text("all"))},
    )


def trends(visit: Visit) -> Page:
    """Scores of a model, or of the longest series of a board, over the nights."""
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
    """One board's series: a chart of those with most nights, and the numbers of all."""
    names = _names(series)
    drawn = [index for index, runs in enumerate(series) if len(runs) > 1][: charts.MOST_COLOURS]
    points = [point for index in drawn for point in _points(names[index], series[index])]
    labels = [names[index] for index in drawn]
    rows = [_row(name, runs) for name, runs in zip(names, series, strict=True)]
    return {"board": board, "chart": _chart(points, labels), "rows": rows, "n_drawn": len(drawn)}


def _names(series: Sequence[Sequence[ListedRun]]) -> list[str]:
    """Name each series by its model, and where several are of one model by what differs."""
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
