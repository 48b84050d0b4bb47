"""Sections that compare runs, variants and traits of tasks, made from the runs' verdicts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.table import Table
from bigcodeflow.report import charts
from bigcodeflow.report.charts import RangePoint, ScorePoint, Spec
from bigcodeflow.report.overview import Section, point_table, samples_link, score_point, slice_chart, smallest_k
from bigcodeflow.report.runs import ReportedRun
from bigcodeflow.results.comparison.common_tasks import By, slices_of
from bigcodeflow.results.comparison.comparison import Comparison, compare
from bigcodeflow.results.comparison.pairs import Method, Pair, compare_pairs, pair_verdict
from bigcodeflow.results.comparison.run_metrics import Grid, rates_of, scores_of
from bigcodeflow.results.comparison.run_selection import ComparedRun, RunRef, load_runs
from bigcodeflow.results.comparison.text_tables import (
    added_ties,
    grid_table,
    matrix_table,
    pair_name,
    pair_table,
    points,
    rates_table,
    rating_cells,
    setting_value,
    short_names,
)
from bigcodeflow.results.formatting import numbers

#: Most pairs in a chart; if there are more, it shows only the pairs with the best run; the table has all.
MOST_PAIRS = 15
_MOST_SLICES = 30
#: Fewest tasks of a slice in a chart; with fewer, intervals of 60 points and more say nothing.
_FEWEST_TASKS = 5
#: Kinds of slices on which a report compares runs; there are too many libraries to draw.
_COMPARED_BY = (By.subset, By.domain, By.libraries, By.length)
_TRAITS = {By.subset: "{}", By.libraries: "libraries: {}", By.length: "prompt length, quarter {}"}
_PAIR_COLUMNS = ("pair", "score", "difference", "95 % interval", "tasks", "better on", "p", "p (Holm)", "verdict")
_SLICE_COLUMNS = ("slice", "pair", "difference", "95 % interval", "tasks", "better on", "p (Holm)", "verdict")
_IN_POINTS = {"difference": "difference, points"}


def lead_runs(runs: Sequence[ReportedRun]) -> list[ComparedRun]:
    """Load each run with its first variant and sanitizer, which represent the run in charts."""
    return load_runs([RunRef(run.recorded, run.label, *run.kinds[0]) for run in runs])


def compared(
    runs: Sequence[ReportedRun], leads: Sequence[ComparedRun], *, sliced: bool = True, best_first: bool = True
) -> Comparison | ArtifactError | None:
    """Compare the runs of a board; return the error if the runs cannot be compared, and None for a single run.

    ``best_first`` sorts the runs by score; otherwise the order of ``leads`` is kept. ``sliced`` also compares the runs
    on slices of the tasks, for at most MOST_COLOURS runs.
    """
    if len(leads) < 2:  # noqa: PLR2004 - a comparison
        return None
    k = sorted({row["k"] for run in runs for row in run.of_lead("pass@k")}) or [1]
    try:
        by = _COMPARED_BY if sliced and len(leads) <= charts.MOST_COLOURS else ()
        return compare(_best_first(leads) if best_first else leads, k=k, by=by)
    except ArtifactError as error:
        return error


def comparison_sections(found: Comparison | ArtifactError | None) -> list[Section]:
    """Return the sections of a comparison, or one that says why runs cannot be compared; none if ``found`` is None."""
    if found is None:
        return []
    if isinstance(found, ArtifactError):
        return [Section("differences", "Differences", f"Not compared: {found}.")]
    parts = (_matrix(found), _ratings(found), _slices(found), _grids(found), _decided(found))
    return [_differences(found), *(section for part in parts for section in part)]


def rates(leads: Sequence[ComparedRun]) -> Section:
    """Return the section on rates of truncated and refused answers, and of timeouts, tampering and unjudged samples."""
    lead = (
        "Truncated: the token limit cut the answer off. Refused: the provider or the model declined. Shares of all "
        "samples of the run; - is not known."
    )
    return Section("rates", "Cut off, refused, timed out", lead, rates_table(rates_of(leads)))


def traits(runs: Sequence[ReportedRun], leads: Sequence[ComparedRun]) -> Section | None:
    """Return the section on scores by traits of tasks: hard or not, number of libraries, length of the prompt.

    Return None if no trait splits the tasks of a run into parts with scores.
    """
    k = smallest_k(runs)
    drawn: list[ScorePoint] = []
    for by, words in _TRAITS.items():
        for run in leads:
            every = list(run.tasks.values())
            for name, task_ids in slices_of(every, by):
                [score] = scores_of(run, task_ids, [k])
                if score.n_tasks and len(task_ids) < len(every):
                    of = words.format(name)
                    drawn.append(score_point(of, run.label, score.value, score.interval, score.n_tasks))
    if not drawn:
        return None
    names = list(dict.fromkeys(point["name"] for point in drawn))
    chart = slice_chart(drawn, title=f"pass@{k}, %", names=names, runs=[run.label for run in _best_first(leads)])
    lead = (
        "Scores by the tasks' traits: the subset hard against the rest, number of libraries, and quarters of the tasks "
        "by the length of their prompt, 1 being the shortest."
    )
    return Section("traits", "Hard, libraries, length", lead, point_table(drawn), chart)


def variants(runs: Sequence[ReportedRun]) -> Section | None:
    """Return the section on differences between variants and sanitizers of a run; None if no run has several."""
    tables = {}
    for run in runs:
        if len(run.kinds) > 1:
            labels = {" · ".join((run.label, *kind)): kind for kind in run.kinds}
            kinds = load_runs([RunRef(run.recorded, label, *kind) for label, kind in labels.items()])
            tasks = [task_id for task_id in kinds[0].tasks if task_id not in run.recorded.excluded]
            pairs = compare_pairs(kinds, [("all", tasks)], kind="all", k=smallest_k([run]), method=Method())
            names = {label: ", ".join(kind) for label, kind in labels.items()}
            tables[run.label] = pair_table(pairs, _PAIR_COLUMNS, names, headings=_IN_POINTS)
    if not tables:
        return None
    rows = [(label, *row) for label, table in tables.items() for row in table.rows]
    table = Table.of(["run", *next(iter(tables.values())).columns], rows)
    lead = (
        "The same answers judged in several ways. Calibrated less raw is what omitted imports and constants cost, "
        "robust less parity what the original's sanitizer loses. p (Holm) counts the pairs of one run."
    )
    return Section("variants", "Variants", lead, table)


def _best_first(runs: Sequence[ComparedRun]) -> list[ComparedRun]:
    """Sort runs by the mean of their tasks' shares of passing samples, the highest first."""
    shares = {run.label: [task.share for task in run.tasks.values() if task.n_judged] for run in runs}
    return sorted(runs, key=lambda run: (-fmean(shares[run.label] or [0.0]), run.label))


def _differences(found: Comparison) -> Section:
    k, names = found.k[0], short_names(found)
    pairs = [pair for pair in found.pairs if pair.k == k]
    lead = (
        "The difference of two runs on the same tasks, with its 95 % interval over tasks. The paired test decides "
        "whether it is more than chance: a run is better where p (Holm), which counts all pairs, is below 0.05. "
        f"{len(found.task_ids):,} common tasks."
    )
    if len(pairs) > MOST_PAIRS and found.ranked:
        pairs = [pair for pair in pairs if found.best in (pair.first, pair.second)]
        lead += f" The chart has the pairs with {found.best}, whose score is the highest; the table has all."
    table = pair_table(found.pairs, _PAIR_COLUMNS, names, notes=found.notes, headings=_IN_POINTS)
    chart = _whiskers([(pair_name(pair, names), pair) for pair in pairs], k)
    return Section("differences", "Differences", lead, table, chart)


def _whiskers(named: Sequence[tuple[str, Pair]], k: int) -> Spec | None:
    drawn: list[RangePoint] = [
        {
            "name": name,
            "value": 100 * pair.difference,
            "low": 100 * pair.interval.low,
            "high": 100 * pair.interval.high,
            "note": "significant" if pair.significant else "not significant",
        }
        for name, pair in named
        if pair.interval
    ]
    return charts.whiskers(drawn, title=f"pass@{k}, first less second, points", zero=True) if drawn else None


def _matrix(found: Comparison) -> Iterator[Section]:
    if len(found.runs) < 3 or not found.ranked:  # noqa: PLR2004 - a matrix of two says no more than the pair
        return
    names = short_names(found)
    cells = [
        {
            "row": row,
            "column": names[column],
            "value": 100 * sign * pair.difference,
            "short": points(sign * pair.difference) + ("*" if pair.significant else ""),
            "note": pair_verdict(pair, names),
        }
        for pair in found.pairs
        if pair.k == found.k[0] and pair.interval
        for row, column, sign in ((pair.first, pair.second, 1), (pair.second, pair.first, -1))
    ]
    labelled = matrix_table(found)
    rows = [run.label for run in found.runs]
    columns = [names[label] for label in rows]
    title = f"pass@{found.k[0]}, row less column, points"
    chart = charts.matrix(cells, title=title, rows=rows, columns=columns) if cells else None
    table = Table.of(["run", *numbers(*columns)], labelled.rows)
    lead = f"{labelled.title} (Holm 1979), which counts all pairs."
    yield Section("significance", "Who beats whom", lead, table, chart)


def _ratings(found: Comparison) -> Iterator[Section]:
    half, excluded = found.ratings, found.ratings_without_ties
    if half is None or excluded is None:
        return
    labels = [run.label for run in found.runs]
    drawn: list[RangePoint] = []
    rows: list[Sequence[Any]] = []
    for number in sorted(range(len(labels)), key=lambda number: (half.rows[number].rank, labels[number])):
        row, label = half.rows[number], labels[number]
        low, high = row.interval
        drawn.append({"name": label, "value": row.rating, "low": low, "high": high, "note": f"rank {row.rank}"})
        rows.append((row.rank, label, *rating_cells(half, number), *rating_cells(excluded, number)))
    rated = numbers("rating", "95 % interval", "ranks", "without ties", "95 % interval", "ranks")
    lead = (
        "Bradley-Terry ratings on Elo's scale, mean 1000, with 95 % intervals of ratings and ranks from "
        f"{half.rounds:,} bootstrap rounds over tasks. A tie is half a win; without ties as in the benchmark's paper."
    )
    for which, ratings in (("Ties as half", half), ("Without ties", excluded)):
        if added := added_ties(ratings):
            lead += f" {which}: {added}."
    chart = charts.whiskers(drawn, title="rating", zero=False)
    yield Section("ratings", "Ratings", lead, Table.of(["rank", "run", *rated], rows), chart)


def _slices(found: Comparison) -> Iterator[Section]:
    if not found.slices:
        return
    pairs = [replace(pair, slice=f"{pair.slice_kind}: {pair.slice}") for pair in found.slices]
    chart = None
    if len(found.runs) == 2:  # noqa: PLR2004 - the whiskers of several pairs would hide one another
        large = [pair for pair in pairs if pair.n_tasks >= min(_FEWEST_TASKS, len(found.task_ids))]
        shown = sorted(large, key=lambda pair: -pair.n_tasks)[:_MOST_SLICES]
        chart = _whiskers([(pair.slice, pair) for pair in large if pair in shown], found.k[0])
    lead = (
        f"Where the runs differ in pass@{found.k[0]}: by Hard, domain, number of libraries and prompt length, as far "
        "as asked for. Slices may overlap; those with fewer tasks have wider intervals. p (Holm) counts all slices of "
        "a kind."
    )
    table = pair_table(pairs, _SLICE_COLUMNS, short_names(found), headings=_IN_POINTS)
    yield Section("differences-by-slice", "Differences by slice", lead, table, chart)


def _grids(found: Comparison) -> Iterator[Section]:
    for number, grid in enumerate(found.grids):
        parameters = [name.replace("_", " ") for name in grid.parameters]
        lead = f"{grid.model}, one setting beside the other, on the {len(found.task_ids):,} common tasks."
        title = ", ".join(parameters).capitalize() + ("" if len(found.grids) == 1 else f" of {grid.model}")
        # A section's name holds no digits: grid-a, …, grid-z, grid-aa, grid-bb.
        letter = chr(ord("a") + number % 26)
        name = f"grid-{letter * (1 + number // 26)}"
        yield Section(name, title, lead, grid_table(grid), _grid_curve(grid, found.k[0]))


def _grid_curve(grid: Grid, k: int) -> Spec | None:
    """Return a chart of scores over the numeric parameter with most values; None if no numeric parameter varies."""
    values = [
        {setting.values[index] for setting in grid.settings if isinstance(setting.values[index], int | float)}
        for index in range(len(grid.parameters))
    ]
    varied = max(range(len(values)), key=lambda index: len(values[index]))
    if len(values[varied]) < 2:  # noqa: PLR2004 - a curve needs two points
        return None
    drawn: list[ScorePoint] = []
    for setting in grid.settings:
        pairs = zip(grid.parameters, setting.values, strict=True)
        named = [f"{name.replace('_', ' ')} {setting_value(value)}" for name, value in pairs]
        line = ", ".join(named[:varied] + named[varied + 1 :]) or grid.model
        x = setting.values[varied]
        if isinstance(x, int | float):
            [score] = [score for score in setting.scores if score.k == k]
            point = score_point(setting.label, line, score.value, score.interval, score.n_tasks)
            drawn.append({**point, "x": float(x)})
    return charts.curve(drawn, title=f"pass@{k}, %", x_title=grid.parameters[varied].replace("_", " "))


def _decided(found: Comparison) -> Iterator[Section]:
    """Yield sections of tasks that do not distinguish the runs: solved by all runs, and solved by no run."""
    solved = "Every run solves these tasks in at least one judged sample: they tell none from another."
    unsolved = "No run solves these tasks in any judged sample: they are hard for all, or their tests are wrong."
    for name, title, task_ids, words in (
        ("all-solved", "Solved by all", found.solved_by_all, solved),
        ("unsolved", "Solved by none", found.unsolved_by_all, unsolved),
    ):
        lead = f"{words} {len(task_ids):,} of {len(found.task_ids):,} common tasks."
        rows = [[samples_link(task_id, q=task_id)] for task_id in task_ids]
        yield Section(name, title, lead, Table.of(["task"] if rows else [], rows))
