"""Sections of the overview, made from the runs' metrics and from counts of their tables."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import quote

from bigcodeflow.core.table import Cell, Column, Table
from bigcodeflow.report import charts
from bigcodeflow.report.charts import ScorePoint, Spec
from bigcodeflow.report.runs import ReportedRun
from bigcodeflow.results.formatting import (
    interval,
    kind_of,
    notes,
    numbers,
    overall,
    percent,
    score_of,
    scores_of,
    several_samples,
    unjudged_notes,
    without_equal_raw,
)
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import split_mismatch

#: Most libraries in the chart; the table shows all.
_MOST_LIBRARIES = 24
#: Fewest tasks of a domain or library; with fewer, intervals of 60 points and more say nothing.
_FEWEST_TASKS = 5
_BINS = [f"{low} to {low + 10}" for low in range(0, 100, 10)]
_SCORE_COLUMNS: tuple[str | Column, ...] = (
    *("run", "variant", "sanitizer", "score"),
    *numbers("value", "95 % interval", "not judged", "judgeable", "ground truths", "quarantine", "tasks", "samples"),
)
_USAGE_COLUMNS: tuple[str | Column, ...] = (
    "run",
    *numbers("answers", "tokens sent", "tokens received", "of these reasoning", "cost, USD", "median answer, s"),
    *numbers("judging, CPU h", "run took"),
)
_NO_TABLE = Table((), ())
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the overview. The page writes all strings as text, never as markup."""

    name: str
    """Anchor in the page; letters and hyphens only."""
    title: str
    lead: str
    """A short explanation of how to read the section."""
    table: Table = _NO_TABLE
    """Table of the section; its notes are warnings, shown above it."""
    chart: Mapping[str, Any] | None = None
    """Vega-Lite specification; if there is a chart, the table below it opens on demand."""
    board: str = ""
    """Subset and split that the section is about, if the report has several of them; else empty."""

    def of_board(self, board: str) -> Self:
        """Return a copy of the section for the board titled ``board``; the title also becomes part of its name."""
        return replace(self, name=f"{self.name}-{re.sub('[^a-z]+', '-', board.lower())}", board=board)

    def without(self, *headings: str) -> Self:
        """Return a copy of the section without these table columns, such as 'run' on a page about one run."""
        kept = [index for index, column in enumerate(self.table.columns) if column.heading not in headings]
        columns, *rows = [[cells[index] for index in kept] for cells in (self.table.columns, *self.table.rows)]
        return replace(self, table=replace(self.table, columns=columns, rows=rows))


def scores(runs: Sequence[ReportedRun]) -> Section:
    """Return the section of all scores with intervals and warnings, and a chart of each run's first score."""
    k = smallest_k(runs)
    points = [_point(run.label, run.label, row) for run in runs for row in _lead_scores(run, k)]
    points.sort(key=lambda point: -point["value"])
    names = [point["name"] for point in points]
    ranks = ranked(runs)
    lead = "Share of tasks solved, with its 95 % interval over tasks."
    if len(runs) > 1:
        lead += " The paired test decides whether one run is better than another, see Differences."
    if any(len(without_equal_raw(run.metrics)) < len(run.metrics) for run in runs):
        lead += " Raw rows are left out where all their numbers equal the calibrated ones."
    rows = [row for run in sorted(runs, key=lambda run: ranks.index(run.label)) for row in _score_rows(run)]
    warnings = []
    for run in runs:
        if run.recorded.contradicted_tasks:
            warnings.append(f"{run.label}: its tasks show tests that contradict them; the numbers are no scores.")
        if run.recorded.task_variants:
            warnings.append(f"{run.label}: its tasks are variants of others; the numbers are no scores.")
        if mismatch := split_mismatch(run.recorded):
            warnings.append(f"{run.label}: {mismatch}; the numbers are not those of its split: run it again.")
        warnings += [f"{run.label}: {note}" for note in (*unjudged_notes(run.metrics), *notes(run.metrics))]
    chart = charts.intervals(points, title=f"pass@{k}, %", names=names) if len(points) > 1 else None
    found = Table.of(_SCORE_COLUMNS, rows, notes=warnings)
    none = [one.heading for one, *cells in zip(found.columns, *found.rows, strict=True) if set(cells) <= {0}]
    return Section("scores", "Scores", lead, found, chart).without(*none)


def records(runs: Sequence[ReportedRun]) -> Section:
    """Return the section that lists the runs with the names of their records in the store."""
    rows = []
    for run in runs:
        of = run.recorded
        link, kinds = samples_link(run.label, run=of.record), ", ".join(map(", ".join, run.kinds))
        rows.append((link, kinds, of.subset, of.split, f"{of.started_at:%Y-%m-%d %H:%M}", of.run, of.record))
    headings = ("run", "judged as", "subset", "split", "began, UTC", "name", "record")
    lead = "Where the numbers come from: the records of the store, which every command takes as names of runs."
    return Section("records", "Records", lead, Table.of(headings, rows))


def tiles(run: ReportedRun) -> list[dict[str, str]]:
    """Return the main numbers of a run as texts: mappings with value, name and note."""
    found = []
    for row in _lead_scores(run, smallest_k([run])):
        provisional = ", provisional" if _count(run, "infra_error_count", row) else ""
        note = f"{interval(row)} with 95 % confidence{provisional}"
        found.append({"value": percent(row["value"]), "name": f"pass@{row['k']}", "note": note})
    for row in overall(run.metrics, "ground_truth_rate"):
        if not math.isnan(row["value"]):
            passed = f"{round(row['value'] * row['n_tasks']):,} of {row['n_tasks']:,} pass here"
            found.append({"value": percent(row["value"]), "name": "ground truths", "note": passed})
    for row in run.of_lead("sample_count"):
        note = f"of {row['n_tasks']:,} tasks; {_count(run, 'infra_error_count', row):,} not judged"
        found.append({"value": f"{row['n_samples']:,}", "name": "samples", "note": note})
    return found


def pass_at_k(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section with pass@k as a curve over k; None if there are scores for fewer than two values of k."""
    rows = [(run, row) for run in runs for row in run.of_lead("pass@k") if not math.isnan(row["value"])]
    if len({row["k"] for _, row in rows}) < 2:  # noqa: PLR2004 - a curve needs two points
        return None
    points: list[ScorePoint] = [{**_point(f"pass@{row['k']}", run.label, row), "x": row["k"]} for run, row in rows]
    chart = charts.curve(points, title="pass@k, %", x_title="k")
    lead = "Share of tasks that at least one of k samples solves."
    return Section("pass-at-k", "More samples", lead, point_table(points), chart)


def reliability(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section on how reliably samples of a task pass; None if tasks have only one sample."""
    points = [
        _point(name, run.label, row)
        for run in runs
        for name, row in several_samples(run.metrics)
        if (row["variant"], row["sanitizer"]) == run.kinds[0]
    ]
    lead = (
        "avg@N: share of samples that pass. Bayes@N: the same as estimated for these very tasks, with a credible "
        "interval. pass^k: all of k samples pass. G-Pass@k: at least τ · k of them do. mG-Pass@k: its mean over τ "
        "from 0.5 to 1."
    )
    return Section("reliability", "Reliability", lead, point_table(points)) if points else None


def by_traits(runs: Sequence[ReportedRun]) -> tuple[Section | None, Section | None]:
    """Return two sections: scores by domain, and scores by library; a section without scores is None."""
    lead = "A task counts in each of its"
    return (
        _by_slice(runs, "domain", "Domains", f"{lead} domains."),
        _by_slice(runs, "library", "Libraries", f"{lead} libraries.", _MOST_LIBRARIES),
    )


def _by_slice(runs: Sequence[ReportedRun], kind: str, title: str, lead: str, most: int | None = None) -> Section | None:
    """Return the section of scores by domain or library, those with most tasks first; None if there are no scores."""
    k = smallest_k(runs)
    rows = []
    for run in runs:
        n_tasks = max((row["n_tasks"] for row in run.of_lead("sample_count")), default=0)
        fewest = min(_FEWEST_TASKS, max(n_tasks // 10, 1))
        rows += [(run, row) for row in _lead_scores(run, k, kind) if row["n_tasks"] >= fewest]
    if not rows:
        return None
    sizes: dict[str, int] = {}
    for _, row in rows:
        sizes[row["slice"]] = max(sizes.get(row["slice"], 0), row["n_tasks"])
    names = sorted(sizes, key=lambda name: (-sizes[name], name))
    shown = names[:most]
    points = [_point(row["slice"], run.label, row) for run, row in rows]
    drawn = [point for point in points if point["name"] in shown]
    chart = slice_chart(drawn, title=f"pass@{k}, %", names=shown, runs=ranked(runs))
    if len(shown) < len(names):
        lead += f" The chart has the {len(shown)} with most tasks; the table has all {len(names)}."
    points.sort(key=lambda point: names.index(point["name"]))
    return Section(f"by-{kind}", title, lead, point_table(points), chart)


def failure_kinds(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section on the causes of samples that did not pass; None if all samples passed."""
    totals: Counter[str] = Counter()
    points, rows = [], []
    for run in runs:
        for row in run.of_lead("sample_count", "failure_kind"):
            kind, count = row["slice"].replace("_", " "), int(row["value"])
            totals[kind] += count
            # Not 100 times the share, which may be 55.00000000000001 and would extend the axis.
            value = 100 * count / row["n_samples"]
            points.append({"run": run.label, "part": kind, "value": value, "count": count})
            link = samples_link(kind, run=run.recorded.record, kind=row["slice"])
            rows.append((run.label, link, count, percent(count / row["n_samples"])))
    if not totals:
        return None
    parts = sorted(totals, key=lambda part: (-totals[part], part))
    chart = charts.stacked_shares(points, title="share of samples, %", runs=ranked(runs), parts=parts)
    lead = "Samples that did not pass, by cause, as a share of all samples of the run. The table leads to each of them."
    table = Table.of(["run", "cause", *numbers("samples", "share")], rows)
    return Section("failure-kinds", "Failures", lead, table, chart)


def solve_rates(rates: Sequence[Row]) -> Section | None:
    """Return the section on solve rates, from rows of solve_rates.sql; None if every task has only one sample."""
    if not rates or max(row["n_samples"] for row in rates) < 2:  # noqa: PLR2004 - of one sample all rates are 0 or 1
        return None
    counts = dict.fromkeys(("0", *_BINS, "100"), 0)
    for row in rates:
        # Rates of exactly 0 and 1 have separate columns.
        rate = row["solve_rate"]
        counts[{0: "0", 1: "100"}.get(rate) or _BINS[int(rate * len(_BINS))]] += 1
    rows = [
        (samples_link(row["task_id"], q=row["task_id"]), percent(row["solve_rate"]), row["libs"], row["n_samples"])
        for row in rates
    ]
    lead = (
        f"How large a share of runs solves a task. {counts['0']:,} of {len(rates):,} tasks are solved by none: they "
        f"measure nothing here, or their tests are wrong. {counts['100']:,} are solved in every sample. The table has "
        "all, those that none solves first."
    )
    table = Table.of(["task", *numbers("solve rate"), "libraries", *numbers("samples")], rows)
    chart = charts.histogram(counts, title="tasks", x_title="solve rate, %")
    return Section("solve-rates", "Difficulty", lead, table, chart)


def usage(runs: Sequence[ReportedRun], used: Sequence[Row]) -> Section | None:
    """Return the section on tokens, cost and time of the runs; ``used`` has a row of usage.sql for each run."""
    rows: list[list[str]] = []
    points: list[ScorePoint] = []
    k = smallest_k(runs)
    for run, row in zip(runs, used, strict=True):
        some, some_priced = (row[name] != row["n_answers"] for name in ("n_with_tokens", "n_cost_known"))
        tokens = [_amount(row[f"{kind}_tokens"], at_least=some) for kind in ("prompt", "completion", "reasoning")]
        cost = _amount(row["cost_usd"], shape=",.2f", at_least=some_priced)
        latency = _amount(row["median_latency_seconds"], shape=",.1f")
        judging = _amount(row["judging_cpu_seconds"] and row["judging_cpu_seconds"] / 3600, shape=",.2f")
        # An imported run has no duration.
        took = ((run.recorded.finished_at or run.recorded.started_at) - run.recorded.started_at).total_seconds()
        rows.append([run.label, _amount(row["n_answers"]), *tokens, cost, latency, judging, duration(took or None)])
        score = next(iter(_lead_scores(run, k)), None)
        if row["cost_usd"] is not None and not some_priced and score:
            points.append({**_point(run.label, run.label, score), "x": row["cost_usd"]})
    chart = charts.scatter(points, title=f"pass@{k}, %", x_title="cost, USD") if len(points) > 1 else None
    lead = (
        "What the answers took, as the providers reported it, and what judging them took. Empty: not known; "
        "≥: not known of all answers."
    )
    known = [number for number in range(len(_USAGE_COLUMNS)) if any(row[number] for row in rows)]
    table = Table.of([_USAGE_COLUMNS[number] for number in known], [[row[number] for number in known] for row in rows])
    return Section("usage", "Tokens, cost and time", lead, table, chart)


def samples_link(text: str, **filters: str) -> Cell:
    """Return a cell with a link to the samples that match the filters: q (words), run, status, kind."""
    chosen = (f"&{name}={quote(value, safe='')}" for name, value in filters.items())
    return Cell(text, href=f"#view=samples{''.join(chosen)}")


def score_point(name: str, run: str, value: float, ends: Sequence[float | None] | None, n_tasks: int) -> ScorePoint:
    """Convert a score in 0..1 to a chart point in percent; ``ends`` are the limits of its 95 % interval, if known."""
    low, high = (None if end is None else 100 * end for end in ends or (None, None))
    return {"name": name, "run": run, "value": 100 * value, "low": low, "high": high, "tasks": n_tasks}


def point_table(points: Sequence[ScorePoint]) -> Table:
    """Return the points of a chart as a table."""
    rows = []
    for point in points:
        ends = "" if point["low"] is None else f"{point['low']:.1f} to {point['high']:.1f}"
        rows.append((point["name"], point["run"], f"{point['value']:.1f} %", ends, point["tasks"]))
    return Table.of(["what", "run", *numbers("score", "95 % interval", "tasks")], rows)


def slice_chart(points: Sequence[ScorePoint], *, title: str, names: Sequence[str], runs: Sequence[str]) -> Spec:
    """Return a chart of scores on slices of the tasks: dots with intervals for few runs, a heat map for many."""
    if len(runs) > charts.MOST_COLOURS:
        return charts.heat_map(points, title=title, names=names, runs=runs)
    return charts.intervals(points, title=title, names=names)


def smallest_k(runs: Sequence[ReportedRun]) -> int:
    """Return the k that charts show: the smallest k of all runs' scores, usually 1."""
    return min((row["k"] for run in runs for row in run.of_lead("pass@k")), default=1)


def ranked(runs: Sequence[ReportedRun]) -> list[str]:
    """Return the runs' labels, the best score first; runs without a score are last."""
    k = smallest_k(runs)
    values = {run.label: max((row["value"] for row in _lead_scores(run, k)), default=-1.0) for run in runs}
    return sorted(values, key=lambda label: -values[label])


def _point(name: str, run: str, row: Row) -> ScorePoint:
    return score_point(name, run, row["value"], (row["ci_low"], row["ci_high"]), row["n_tasks"])


def _lead_scores(run: ReportedRun, k: int, slice_kind: str = "all") -> list[Row]:
    """Return the run's pass@k for its first variant and sanitizer, without undefined scores (NaN)."""
    return [row for row in run.of_lead("pass@k", slice_kind) if row["k"] == k and not math.isnan(row["value"])]


def _score_rows(run: ReportedRun) -> Iterator[Sequence[Any]]:
    truths = next(overall(run.metrics, "ground_truth_rate"), None)
    for name, row, judgeable in scores_of(without_equal_raw(run.metrics)):
        left = _count(run, "infra_error_count", row)
        excluded, kept = (_count(run, f"{name}_task_count", row) for name in ("excluded", "quarantined"))
        yield (
            samples_link(run.label, run=run.recorded.record),
            row["variant"],
            row["sanitizer"],
            name,
            Cell(f"{percent(row['value'])} provisional", "warning") if left else percent(row["value"]),
            interval(row),
            Cell(left, "bad") if left else left,
            score_of(judgeable),
            percent(truths["value"]) if truths else "",
            f"{excluded:,} left out" if excluded else f"{kept:,} counted" if kept else 0,
            row["n_tasks"],
            row["n_samples"],
        )


def _count(run: ReportedRun, metric: str, row: Row) -> int:
    found = (other["value"] for other in overall(run.metrics, metric) if kind_of(other) == kind_of(row))
    return int(next(found, 0))


def _amount(value: float | None, *, shape: str = ",.0f", at_least: bool = False) -> str:
    return "" if value is None else f"{'≥ ' if at_least else ''}{value:{shape}}"


def duration(seconds: float | None) -> str:
    """Return a duration in words, such as '2.4 s', '7 min' or '3.5 h'; empty if it is not known."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - two digits are enough
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.0f} days"
