"""A comparison's sections: differences, the significance matrix, ratings, slices, and grids of settings."""

from collections.abc import Iterator, Sequence

from bigcodeflow.report import charts
from bigcodeflow.report.charts import PairCell, RangePoint, ScorePoint, Spec
from bigcodeflow.report.points import score_point
from bigcodeflow.report.sections import Cell, Column, Section, samples_link
from bigcodeflow.results.comparison import Comparison, Grid, GridRun, Pair, Ratings
from bigcodeflow.results.comparison.pairs import pair_verdict
from bigcodeflow.results.comparison.text_tables import (
    Names,
    behind_cells,
    chance_cells,
    difference_cells,
    matrix_table,
    pair_name,
    points,
    rating_cells,
    setting_value,
    short_names,
)
from bigcodeflow.results.formatting import percent

#: More pairs than that are drawn against the best run only; the table has all.
MOST_PAIRS = 15
_MOST_SLICES = 30
#: A slice of fewer tasks has an interval of 60 points and more: no reading.
_FEWEST_TASKS = 5
_HOW = (
    "The difference of two runs on the same tasks, with its 95 % interval over tasks. Whether it is more than chance "
    "is the word of the paired test: a run is better where p (Holm), which counts all pairs, is below 0.05."
)


def comparison_sections(found: Comparison) -> list[Section]:
    """The comparison as parts of the overview."""
    return [
        _differences(found), *_matrix(found), *_ratings(found), *_slices(found), *_grids(found), *_decided(found),
    ]  # fmt: skip


def not_compared(reason: str) -> Section:
    """Why runs stand beside one another and are not compared."""
    return Section("differences", "Differences", f"Not compared: {reason}.")


def pair_rows(pairs: Sequence[Pair], names: Names) -> list[list[Cell]]:
    """Rows of a table of PAIR_COLUMNS."""
    return [
        [
            pair_name(pair, names),
            f"pass@{pair.k}",
            *difference_cells(pair),
            *behind_cells(pair),
            *chance_cells(pair),
            {"text": pair_verdict(pair, names), "tone": "good"} if pair.significant else pair_verdict(pair),
        ]
        for pair in pairs
    ]


PAIR_COLUMNS = (
    Column("pair"),
    Column("score"),
    Column("difference, points", "number"),
    Column("95 % interval", "number"),
    Column("tasks", "number"),
    Column("better on", "number"),
    Column("p", "number"),
    Column("p (Holm)", "number"),
    Column("verdict"),
)


def _differences(found: Comparison) -> Section:
    k, names = found.k[0], short_names(found)
    pairs = [pair for pair in found.pairs if pair.k == k]
    lead = f"{_HOW} {len(found.task_ids):,} common tasks."
    if len(pairs) > MOST_PAIRS and found.ranked:
        best = max((score for score in found.scores if score.k == k), key=lambda score: score.value).label
        pairs = [pair for pair in pairs if best in (pair.first, pair.second)]
        lead += f" The chart has the pairs with {best}, whose score is the highest; the table has all."
    chart = _whiskers([(pair_name(pair, names), pair) for pair in pairs], f"pass@{k}, first less second, points")
    return Section("differences", "Differences", lead, PAIR_COLUMNS, pair_rows(found.pairs, names), chart, found.notes)


def _whiskers(named: Sequence[tuple[str, Pair]], title: str) -> Spec | None:
    drawn: list[RangePoint] = [
        {
            "name": name,
            "value": 100 * pair.difference,
            "low": 100 * pair.interval.low,
            "high": 100 * pair.interval.high,
            "told": "significant" if pair.significant else "not significant",
        }
        for name, pair in named
        if pair.interval
    ]
    return charts.whiskers(drawn, title=title, zero=True) if drawn else None


def _matrix(found: Comparison) -> Iterator[Section]:
    if len(found.subjects) < 3 or not found.ranked:  # noqa: PLR2004 - a matrix of two says no more than the pair
        return
    names = short_names(found)
    cells: list[PairCell] = []
    for pair in found.pairs:
        if pair.k == found.k[0] and pair.interval:
            for row, column, sign in ((pair.first, pair.second, 1), (pair.second, pair.first, -1)):
                short = points(sign * pair.difference) + ("*" if pair.significant else "")
                value = 100 * sign * pair.difference
                told = pair_verdict(pair, names)
                cells.append({"row": row, "column": names[column], "value": value, "short": short, "told": told})
    matrix = matrix_table(found)
    labels = [subject.label for subject in found.subjects]
    columns = [Column("run"), *(Column(names[label], "number") for label in labels)]
    lead = f"{matrix.title} (Holm 1979), which counts all pairs."
    title = f"pass@{found.k[0]}, row less column, points"
    chart = (
        charts.matrix(cells, title=title, rows=labels, columns=[names[label] for label in labels]) if cells else None
    )
    yield Section("significance", "Who beats whom", lead, columns, [list(row) for row in matrix.texts()], chart)


def _ratings(found: Comparison) -> Iterator[Section]:
    half, excluded = found.ratings, found.ratings_without_ties
    if half is None or excluded is None:
        return
    labels = [subject.label for subject in found.subjects]
    order = sorted(range(len(labels)), key=lambda place: (half.rows[place].rank, labels[place]))
    drawn: list[RangePoint] = []
    rows: list[list[Cell]] = []
    for place in order:
        row = half.rows[place]
        low, high = row.interval
        drawn.append({"name": labels[place], "value": row.rating, "low": low, "high": high, "told": f"rank {row.rank}"})
        rows.append([str(row.rank), labels[place], *rating_cells(half, place), *rating_cells(excluded, place)])
    columns = [
        Column("rank"), Column("run"), Column("rating", "number"), Column("95 % interval", "number"),
        Column("ranks", "number"), Column("without ties", "number"), Column("95 % interval", "number"),
        Column("ranks", "number"),
    ]  # fmt: skip
    lead = (
        "Bradley-Terry ratings on Elo's scale, mean 1000, with 95 % intervals of ratings and ranks from "
        f"{half.rounds:,} bootstrap rounds over tasks. A tie is half a win; without ties as in the benchmark's paper."
    )
    notes = [
        f" {which}: {_regularised(ratings)}"
        for which, ratings in (("Ties as half", half), ("Without ties", excluded))
        if ratings.regularised_rounds or ratings.regularised
    ]
    chart = charts.whiskers(drawn, title="rating", zero=False)
    yield Section("ratings", "Ratings", lead + "".join(notes), columns, rows, chart)


def _regularised(found: Ratings) -> str:
    if found.regularised:
        return "no finite rating fits a model that never lost, so one tie was added to each pair."
    return f"in all {found.rounds:,} bootstrap rounds one tie was added to each pair: some have no finite rating else."


def _slices(found: Comparison) -> Iterator[Section]:
    if not found.slices:
        return
    k, names = found.k[0], short_names(found)
    rows: list[list[Cell]] = [
        [
            f"{pair.slice_kind}: {pair.slice}",
            pair_name(pair, names),
            *difference_cells(pair),
            *behind_cells(pair),
            chance_cells(pair)[1],
            {"text": pair_verdict(pair, names), "tone": "good"} if pair.significant else pair_verdict(pair),
        ]
        for pair in found.slices
    ]
    columns = [
        Column("slice"), Column("pair"), Column("difference, points", "number"), Column("95 % interval", "number"),
        Column("tasks", "number"), Column("better on", "number"), Column("p (Holm)", "number"), Column("verdict"),
    ]  # fmt: skip
    chart = None
    if len(found.subjects) == 2:  # noqa: PLR2004 - the whiskers of several pairs would hide one another
        large = [pair for pair in found.slices if pair.n_tasks >= min(_FEWEST_TASKS, len(found.task_ids))]
        shown = sorted(large, key=lambda pair: -pair.n_tasks)[:_MOST_SLICES]
        named = [(f"{pair.slice_kind}: {pair.slice}", pair) for pair in large if pair in shown]
        chart = _whiskers(named, f"pass@{k}, first less second, points")
    lead = (
        f"Where the runs differ in pass@{k}: by Hard, domain, number of libraries and prompt length, as far as asked "
        "for. Slices may overlap; those with fewer tasks have wider intervals. p (Holm) counts all slices of a kind."
    )
    yield Section("differences-by-slice", "Differences by slice", lead, columns, rows, chart)


def _grids(found: Comparison) -> Iterator[Section]:
    for number, grid in enumerate(found.grids, start=1):
        words = ", ".join(grid.parameters).replace("_", " ")
        rows: list[list[Cell]] = [
            [
                *map(setting_value, setting.values),
                setting.label,
                f"pass@{score.k}",
                percent(score.value),
                f"{100 * score.interval.low:.1f} to {100 * score.interval.high:.1f}" if score.interval else "",
                f"{score.n_tasks:,}",
            ]
            for setting in grid.settings
            for score in setting.scores
        ]
        columns = [
            *(Column(name.replace("_", " ")) for name in grid.parameters),
            Column("run"), Column("score"), Column("value", "number"), Column("95 % interval", "number"),
            Column("tasks", "number"),
        ]  # fmt: skip
        lead = f"{grid.model}, one setting beside the other, on the {len(found.task_ids):,} common tasks."
        title = words.capitalize() if len(found.grids) == 1 else f"{words.capitalize()} of {grid.model}"
        yield Section(f"grid-{_letters(number)}", title, lead, columns, rows, _curve(grid, found.k[0]))


def _decided(found: Comparison) -> Iterator[Section]:
    """The tasks that tell no run from another, those that all solve apart from those that none does."""
    lists = (
        (
            "all-solved",
            "Solved by all",
            found.solved_by_all,
            "Every run solves these tasks in at least one judged sample: they tell none from another.",
        ),
        (
            "unsolved",
            "Solved by none",
            found.unsolved_by_all,
            "No run solves these tasks in any judged sample: they are hard for all, or their tests are wrong.",
        ),
    )
    for name, title, task_ids, words in lists:
        lead = f"{words} {len(task_ids):,} of {len(found.task_ids):,} common tasks."
        rows: list[list[Cell]] = [[samples_link(task_id, q=task_id)] for task_id in task_ids]
        yield Section(name, title, lead, [Column("task")] if rows else (), rows)


def _curve(grid: Grid, k: int) -> Spec | None:
    """Scores over the number that varies most, a line for each setting of the others; None where none is a number."""
    numbers = {
        place: {setting.values[place] for setting in grid.settings if isinstance(setting.values[place], int | float)}
        for place in range(len(grid.parameters))
    }
    place = max(numbers, key=lambda one: len(numbers[one]))
    if len(numbers[place]) < 2:  # noqa: PLR2004 - a curve needs two points
        return None
    drawn: list[ScorePoint] = []
    for setting in grid.settings:
        x = setting.values[place]
        for score in setting.scores:
            if score.k == k and isinstance(x, int | float):
                ends = (score.interval.low, score.interval.high) if score.interval else None
                line = _line(grid, setting, place)
                drawn.append({**score_point(setting.label, line, score.value, ends, score.n_tasks), "x": float(x)})
    return charts.curve(drawn, title=f"pass@{k}, %", x_title=grid.parameters[place].replace("_", " "))


def _line(grid: Grid, setting: GridRun, place: int) -> str:
    """What tells a line of the curve apart: the other parameters."""
    others = [
        f"{name.replace('_', ' ')} {setting_value(value)}"
        for other, (name, value) in enumerate(zip(grid.parameters, setting.values, strict=True))
        if other != place
    ]
    return ", ".join(others) or grid.model


def _letters(number: int) -> str:
    """A number as the name of a section may hold it: a, b, …, z, aa."""
    name = ""
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("a") + letter) + name
    return name
