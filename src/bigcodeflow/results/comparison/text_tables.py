"""Text tables of a comparison, for the terminal and for Markdown; shares in percent, differences in points."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bigcodeflow.core.display_text import markdown_text
from bigcodeflow.core.table import Alignment, Cell, Column, Table
from bigcodeflow.results.comparison.bradley_terry import Ratings
from bigcodeflow.results.comparison.comparison import Comparison
from bigcodeflow.results.comparison.pairs import Pair, pair_verdict
from bigcodeflow.results.comparison.run_metrics import Grid, Rates, Score
from bigcodeflow.results.comparison.run_selection import ComparedRun
from bigcodeflow.results.formatting import numbers, percent, percent_range, without_board

_SMALL_P = 0.001
#: Most runs in a matrix; more would be wider than a terminal.
_MOST_COLUMNS = 8
_DIFFERENCES = "Differences, first minus second, in points"
_DIFFERENCE_COLUMNS = ("pair", "score", "difference", "95 % interval", "verdict")
_TEST_COLUMNS = ("pair", "score", "tasks", "better on", "test", "p", "p (Holm)")

#: Names of runs in a table, by label; runs without an entry are shown by their labels.
Names = Mapping[str, str]
_OWN: Names = {}

# Numbers distinguish the rows if a name must be cut.
_RUN = Column("run", wrap="elide")
_SCORED = (Column("score"), *numbers("value", "95 % interval", "tasks"))


def tables(comparison: Comparison, *, tasks: bool = False, brief: bool = False) -> list[Table]:
    """Return the comparison's tables; the first table numbers the runs, and the other tables use these numbers.

    ``tasks`` adds tables of task ids: solved by only one run of a pair, by all runs, by no run. ``brief`` selects the
    tables that fit on a screen: scores, differences, the first ratings, slices and records.
    """
    names = {run.label: f"#{number}" for number, run in enumerate(comparison.runs, start=1)}
    # A matrix of two runs shows no more than the pair.
    matrix = [matrix_table(comparison, names)] if len(names) > 2 and comparison.ranked else []  # noqa: PLR2004
    records = _records(comparison.runs, names)
    rated, sliced = list(_ratings(comparison, names)), list(_by_slice(comparison, names))
    if brief:
        pairs = matrix if matrix and len(names) <= _MOST_COLUMNS else [_brief_pairs(comparison, names)]
        found = [_brief_scores(comparison, names), *pairs, *rated[:1], *sliced, records]
    else:
        differences = pair_table(comparison.pairs, _DIFFERENCE_COLUMNS, names, title=_DIFFERENCES)
        tests = pair_table(comparison.pairs, _TEST_COLUMNS, names, title="Could it be chance?")
        found = [records, _scores(comparison, names), differences, tests, *matrix, *rated, *sliced]
        found += [*(grid_table(grid, names) for grid in comparison.grids), _solving(comparison, names)]
        found += [rates_table(comparison.rates, names), _usage(comparison.rates, names)]
    if tasks:
        found += _tasks(comparison, names)
    return [table for table in found if table.rows]


def to_markdown(comparison: Comparison, *, tasks: bool = False) -> str:
    """Return notes and all tables as Markdown."""
    notes = [f"> {markdown_text(note)}" for note in comparison.notes]
    return "\n\n".join([*notes, *(table.to_markdown() for table in tables(comparison, tasks=tasks))])


def short_names(comparison: Comparison) -> Names:
    """Map the runs' labels to names without their board (subset and split); empty if the boards differ."""
    if not comparison.ranked:
        return _OWN
    return {one.label: without_board(one.label, one.recorded.board) for one in comparison.runs}


def matrix_table(comparison: Comparison, names: Names = _OWN) -> Table:
    """Return a matrix of the differences in pass@k between all runs, for the smallest compared k."""
    k = comparison.k[0]
    labels = [run.label for run in comparison.runs]
    cells = {}
    for pair in comparison.pairs:
        if pair.k == k:
            star = " *" if pair.significant else ""
            cells[pair.first, pair.second] = points(pair.difference) + star
            cells[pair.second, pair.first] = points(-pair.difference) + star
    rows = [(_numbered(one, names), *(cells.get((one, other), "") for other in labels)) for one in labels]
    headings = (_RUN, *numbers(*(names.get(label, label) for label in labels)))
    return Table.of(headings, rows, title=f"pass@{k}, row minus column, in points; * significant after Holm")


def rates_table(rates: Sequence[Rates], names: Names = _OWN) -> Table:
    """Return a table with a row per run: shares of samples truncated, refused, timed out, tampered, not judged."""
    rows = []
    for row in rates:
        judged = (row.timeout_rate, row.tampered_rate, row.infra_error_rate)
        shares = (row.truncated_rate, row.refusal_rate, *judged)
        texts = ("-" if share is None else percent(share) for share in shares)
        rows.append((_numbered(row.label, names), row.n_samples, *texts))
    counted = ("samples", "truncated", "refused", "timeout", "tampered", "not judged")
    headings = (_RUN, *numbers(*counted))
    return Table.of(headings, rows, title="Samples of each run, over all its tasks; - is not known")


def pair_name(pair: Pair, names: Names = _OWN) -> str:
    """Return the name of a pair, such as '#1 vs #2'; a run that ``names`` lacks is shown by its label."""
    return f"{names.get(pair.first, pair.first)} vs {names.get(pair.second, pair.second)}"


def pair_table(
    pairs: Sequence[Pair],
    columns: Sequence[str],
    names: Names = _OWN,
    *,
    title: str = "",
    notes: Sequence[str] = (),
    headings: Names = _OWN,
) -> Table:
    """Return a table with one row per pair; columns are names in ``_PAIR_CELLS``, ``headings`` renames them."""
    shown = [Column(headings.get(name, name), _PAIR_CELLS[name][0]) for name in columns]
    rows = [[_PAIR_CELLS[name][1](pair, names) for name in columns] for pair in pairs]
    return Table.of(shown, rows, title=title, notes=notes)


def points(difference: float) -> str:
    """Format a difference of shares in percentage points with sign; empty for NaN."""
    if math.isnan(difference):
        return ""
    text = f"{100 * difference:+.1f}"
    return "0.0" if float(text) == 0 else text


def added_ties(found: Ratings) -> str:
    """Return a phrase about ties that were added to make ratings finite; empty if no ties were added."""
    if found.regularised:
        return "no finite rating fits a model that never lost, so one tie was added to each pair"
    if found.regularised_rounds:
        return f"in all {found.rounds:,} bootstrap rounds one tie was added to each pair, as some had no finite rating"
    return ""


def rating_cells(found: Ratings, place: int) -> tuple[str, str, str]:
    """Return three cells for the model at index ``place``: rating, interval of the rating, and interval of the rank."""
    row = found.rows[place]
    ranks = str(row.rank_best) if row.rank_best == row.rank_worst else f"{row.rank_best} to {row.rank_worst}"
    return f"{row.rating:.0f}", f"{row.interval.low:.0f} to {row.interval.high:.0f}", ranks


def setting_value(value: float | str | None) -> str:
    """Return a parameter's value as text; 'default' for None."""
    if value is None:
        return "default"
    return value if isinstance(value, str) else f"{value:g}"


def grid_table(grid: Grid, names: Names = _OWN) -> Table:
    """Return a table of the scores of a model's runs, with the settings in which they differ."""
    rows = [
        (*map(setting_value, run.values), _numbered(run.label, names), f"pass@{score.k}", *_value(score))
        for run in grid.settings
        for score in run.scores
    ]
    parameters = [name.replace("_", " ") for name in grid.parameters]
    return Table.of((*parameters, _RUN, *_SCORED), rows, title=f"{grid.model} by {', '.join(parameters)}")


def _records(runs: Sequence[ComparedRun], names: Names) -> Table:
    headings = (_RUN, "variant", "sanitizer", "subset", "split", Column("day", "right"), Column("record", wrap="elide"))
    rows = []
    for run in runs:
        of = run.recorded
        day = f"{of.started_at:%Y-%m-%d}"
        rows.append((names[run.label], run.variant, run.sanitizer, of.subset, of.split, day, of.record))
    return Table.of(headings, rows, title="Records")


def _brief_scores(comparison: Comparison, names: Names) -> Table:
    found = {(score.label, score.k): score for score in comparison.scores}
    rows = []
    for run in comparison.runs:
        cells = (_value(found[run.label, k]) for k in comparison.k)
        values = (f"{value} ({ends})" if ends else value for value, ends, _ in cells)
        rows.append((_numbered(run.label, names), *values))
    boards = " and ".join(dict.fromkeys(run.recorded.board for run in comparison.runs))
    headings = (_RUN, *numbers(*(f"pass@{k}" for k in comparison.k)))
    title = f"Scores on {len(comparison.task_ids):,} common tasks of {boards}, with 95 % intervals"
    return Table.of(headings, rows, title=title)


def _brief_pairs(comparison: Comparison, names: Names) -> Table:
    """Return a table of pairs; for many runs, only pairs with the best run (the first run if not ranked)."""
    pairs, k = comparison.pairs, comparison.k[0]
    title = _DIFFERENCES
    if len(comparison.runs) > _MOST_COLUMNS:
        lead = comparison.best or comparison.runs[0].label
        pairs = tuple(pair for pair in pairs if pair.k == k and lead in (pair.first, pair.second))
        title = f"Differences from {names[lead]} in pass@{k}, first minus second, in points"
    columns = ("pair", "score", "difference", "95 % interval", "better on", "p (Holm)", "verdict")
    return pair_table(pairs, columns, names, title=title, headings={"better on": "better on tasks"})


def _scores(comparison: Comparison, names: Names) -> Table:
    runs = {run.label: (run.variant, run.sanitizer) for run in comparison.runs}
    rows = [
        (_numbered(score.label, names), *runs[score.label], f"pass@{score.k}", *_value(score))
        for score in comparison.scores
    ]
    title = f"Scores on {len(comparison.task_ids):,} common tasks"
    return Table.of((_RUN, "variant", "sanitizer", *_SCORED), rows, title=title)


def _ratings(comparison: Comparison, names: Names) -> Iterator[Table]:
    labels = [_numbered(run.label, names) for run in comparison.runs]
    for ties, found in (("as half", comparison.ratings), ("left out", comparison.ratings_without_ties)):
        if found:
            title = "; ".join(filter(None, (f"Bradley-Terry ratings, ties {ties}", added_ties(found))))
            rows = [(row.rank, labels[place], *rating_cells(found, place)) for place, row in enumerate(found.rows)]
            headings = numbers("rating", "95 % interval", "ranks")
            yield Table.of(("rank", _RUN, *headings), sorted(rows), title=title)


def _by_slice(comparison: Comparison, names: Names) -> Iterator[Table]:
    columns = ("slice", "pair", "difference", "95 % interval", "tasks", "p (Holm)", "verdict")
    for kind in comparison.by:
        pairs = [pair for pair in comparison.slices if pair.slice_kind == kind]
        title = (
            f"pass@{comparison.k[0]} by {kind.value}, first minus second, in points; slices with fewer tasks have "
            "wider intervals; slices may overlap"
        )
        yield pair_table(pairs, columns, names, title=title, headings={"slice": kind.value})


def _solving(comparison: Comparison, names: Names) -> Table:
    rates = [one.rate for one in comparison.solve_rates]
    rows = [
        ("solved by all runs", len(comparison.solved_by_all)),
        ("solved by no run", len(comparison.unsolved_by_all)),
        ("mean solve rate", percent(math.fsum(rates) / len(rates)) if rates else ""),
        *((f"only {one}, not {other}", len(ids)) for one, other, ids in _solved_by_one(comparison, names)),
    ]
    return Table.of(("tasks", Column("count", "right")), rows, title="Tasks solved, in at least one sample")


def _usage(rates: Sequence[Rates], names: Names) -> Table:
    rows = []
    for row in rates:
        priced = row.cost_usd is None or row.n_cost_known >= row.n_samples
        tokens = (row.prompt_tokens, row.completion_tokens, row.reasoning_tokens)
        cost = _known(row.cost_usd, ",.4f") + ("" if priced else f" ({row.n_cost_known:,} answers)")
        seconds = (_known(row.median_latency_seconds, ".1f"), _known(row.cpu_seconds, ",.0f"))
        rows.append((_numbered(row.label, names), *(_known(count, ",d") for count in tokens), cost, *seconds))
    spent = ("tokens in", "out", "of these reasoning", "cost USD", "median answer s", "judging CPU s")
    headings = (_RUN, *numbers(*spent))
    return Table.of(headings, rows, title="What each run took; - is not known")


def _tasks(comparison: Comparison, names: Names) -> Iterator[Table]:
    lists = [(f"Solved by {one}, not by {other}", ids) for one, other, ids in _solved_by_one(comparison, names)]
    lists += [("Solved by all runs", comparison.solved_by_all), ("Solved by no run", comparison.unsolved_by_all)]
    for title, ids in lists:
        yield Table.of(("task",), [(one,) for one in ids], title=f"{title}: {len(ids):,}")


def _solved_by_one(comparison: Comparison, names: Names) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (run A, run B, ids of tasks that A solves and B does not) for each pair of runs, in both orders."""
    for one in comparison.discordant:
        yield names[one.first], names[one.second], one.only_first
        yield names[one.second], names[one.first], one.only_second


def _numbered(label: str, names: Names) -> str:
    return f"{names[label]} {label}" if label in names else label


def _value(score: Score) -> tuple[str, str, str]:
    value = percent(score.value) + (" (provisional)" if score.provisional else "")
    return value, percent_range(score.interval), f"{score.n_tasks:,}"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {_SMALL_P}" if value < _SMALL_P else f"{value:.3f}"


def _known(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _verdict(pair: Pair, names: Names) -> Cell | str:
    return Cell(pair_verdict(pair, names), "good") if pair.significant else pair_verdict(pair)


#: Columns of tables about pairs: alignment, and function that makes the cell.
_PAIR_CELLS: Mapping[str, tuple[Alignment, Callable[[Pair, Names], Any]]] = {
    "slice": ("left", lambda pair, _: pair.slice),
    "pair": ("left", pair_name),
    "score": ("left", lambda pair, _: f"pass@{pair.k}"),
    "difference": ("right", lambda pair, _: points(pair.difference)),
    "95 % interval": ("right", lambda pair, _: " to ".join(map(points, pair.interval or ()))),
    "tasks": ("right", lambda pair, _: pair.n_tasks),
    "better on": ("right", lambda pair, _: f"{pair.n_first_better:,} : {pair.n_second_better:,}"),
    "test": ("left", lambda pair, _: pair.test),
    "p": ("right", lambda pair, _: _p(pair.p)),
    "p (Holm)": ("right", lambda pair, _: _p(pair.p_holm)),
    "verdict": ("left", _verdict),
}
