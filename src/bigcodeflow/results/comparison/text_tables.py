"""A comparison as tables of words, for the terminal and for Markdown; shares in percent, differences in points."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bigcodeflow.results.comparison.bradley_terry import Ratings
from bigcodeflow.results.comparison.comparison import Comparison
from bigcodeflow.results.comparison.pairs import Pair, pair_verdict
from bigcodeflow.results.comparison.run_metrics import Rates, Score
from bigcodeflow.results.formatting import board_title, percent, without_board
from bigcodeflow.results.statistics import Interval

_SMALL_P = 0.001
_SCORED = ("score", "value", "95 % interval", "tasks")
#: A matrix of more runs is wider than a terminal.
_MOST_COLUMNS = 8
_SLICES_SAID = "slices with fewer tasks have wider intervals; slices may overlap"

#: What runs are called in a table, by their labels; those that are not in it go by their labels.
Names = Mapping[str, str]
_OWN: Names = {}


class Sheet(NamedTuple):
    """One table of text."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheets(comparison: Comparison, *, tasks: bool = False, brief: bool = False) -> list[Sheet]:
    """The comparison's tables, most important first; a pair is told by the numbers that the first table gives its runs.

    Args:
        comparison: what was found.
        tasks: add the ids of the tasks that make the difference.
        brief: only what fits a screen: scores, differences, ratings and records.
    """
    names = numbers(comparison)
    several = len(comparison.subjects) > 2  # noqa: PLR2004 - a matrix of two says no more than the pair
    if brief:
        matrix = several and comparison.ranked and len(comparison.subjects) <= _MOST_COLUMNS
        made = [
            _brief_scores(comparison, names),
            matrix_sheet(comparison, names) if matrix else _told(comparison, names),
        ]
        made += [
            *list(_ratings(comparison, names))[:1],
            *_by_slice(comparison, names),
            records_sheet(comparison, names),
        ]
    else:
        made = [records_sheet(comparison, names), _scores(comparison, names), *_pairs(comparison, names)]
        if several and comparison.ranked:
            made.append(matrix_sheet(comparison, names))
        made += [*_ratings(comparison, names), *_by_slice(comparison, names), *_grids(comparison, names)]
        made += [_solving(comparison, names), rates_sheet(comparison.rates, names), _usage(comparison.rates, names)]
    if tasks:
        made += _tasks(comparison, names)
    return [sheet for sheet in made if sheet.rows]


def numbers(comparison: Comparison) -> Names:
    """A short name for each run, by its label, such as '#1'."""
    return {subject.label: f"#{number}" for number, subject in enumerate(comparison.subjects, start=1)}


def short_names(comparison: Comparison) -> Names:
    """The labels without their board, for tables and charts beneath its title; as they are where boards differ."""
    if not comparison.ranked:
        return _OWN
    return {one.label: without_board(one.label, one.subset, one.split) for one in comparison.subjects}


def records_sheet(comparison: Comparison, names: Names = _OWN) -> Sheet:
    """Which record each run is, and in which variant and sanitizer it was taken."""
    rows = [
        (
            names.get(subject.label, subject.label),
            subject.variant,
            subject.sanitizer,
            subject.subset,
            subject.split,
            subject.started_at[:10],
            subject.record,
        )
        for subject in comparison.subjects
    ]
    return Sheet("Records", ("run", "variant", "sanitizer", "subset", "split", "day", "record"), tuple(rows))


def _brief_scores(comparison: Comparison, names: Names) -> Sheet:
    """One row a run, one column a k."""
    found = {(score.label, score.k): score for score in comparison.scores}
    rows = []
    for subject in comparison.subjects:
        told = (_value(found[subject.label, k]) for k in comparison.k)
        cells = (f"{value} ({ends})" if ends else value for value, ends, _ in told)
        rows.append((_numbered(subject.label, names), *cells))
    boards = " and ".join(dict.fromkeys(board_title(one.subset, one.split) for one in comparison.subjects))
    title = f"Scores on {len(comparison.task_ids):,} common tasks of {boards}, with 95 % intervals"
    return Sheet(title, ("run", *(f"pass@{k}" for k in comparison.k)), tuple(rows))


def _told(comparison: Comparison, names: Names) -> Sheet:
    """Each pair in one row; of many runs those with the best one, or with the first where they are not ranked."""
    pairs, k = comparison.pairs, comparison.k[0]
    title = "Differences, first minus second, in points"
    if len(comparison.subjects) > _MOST_COLUMNS:
        scored = [score for score in comparison.scores if score.k == k]
        lead = max(scored, key=lambda score: score.value).label if comparison.ranked else comparison.subjects[0].label
        pairs = tuple(pair for pair in pairs if pair.k == k and lead in (pair.first, pair.second))
        title = f"Differences from {names[lead]} in pass@{k}, first minus second, in points"
    rows = [
        (
            pair_name(pair, names),
            f"pass@{pair.k}",
            *difference_cells(pair),
            behind_cells(pair)[1],
            chance_cells(pair)[1],
            pair_verdict(pair, names),
        )
        for pair in pairs
    ]
    headings = ("pair", "score", "difference", "95 % interval", "better on tasks", "p (Holm)", "verdict")
    return Sheet(title, headings, tuple(rows))


def _scores(comparison: Comparison, names: Names) -> Sheet:
    subjects = {subject.label: subject for subject in comparison.subjects}
    rows = [
        (
            _numbered(score.label, names),
            subjects[score.label].variant,
            subjects[score.label].sanitizer,
            f"pass@{score.k}",
            *_value(score),
        )
        for score in comparison.scores
    ]
    headings = ("run", "variant", "sanitizer", *_SCORED)
    return Sheet(f"Scores on {len(comparison.task_ids):,} common tasks", headings, tuple(rows))


def _pairs(comparison: Comparison, names: Names) -> Iterator[Sheet]:
    rows = [
        (pair_name(pair, names), f"pass@{pair.k}", *difference_cells(pair), pair_verdict(pair, names))
        for pair in comparison.pairs
    ]
    named = ("pair", "score", "difference", "95 % interval", "verdict")
    yield Sheet("Differences, first minus second, in points", named, tuple(rows))
    tests = [
        (pair_name(pair, names), f"pass@{pair.k}", *behind_cells(pair), pair.test, *chance_cells(pair))
        for pair in comparison.pairs
    ]
    tested = ("pair", "score", "tasks", "better on", "test", "p", "p (Holm)")
    yield Sheet("Could it be chance?", tested, tuple(tests))


def matrix_sheet(comparison: Comparison, names: Names = _OWN) -> Sheet:
    """Differences of every pair in pass@k for the smallest k."""
    k = comparison.k[0]
    labels = [subject.label for subject in comparison.subjects]
    cells = {}
    for pair in comparison.pairs:
        if pair.k == k:
            star = " *" if pair.significant else ""
            cells[pair.first, pair.second] = points(pair.difference) + star
            cells[pair.second, pair.first] = points(-pair.difference) + star
    rows = [(_numbered(one, names), *(cells.get((one, other), "") for other in labels)) for one in labels]
    title = f"pass@{k}, row minus column, in points; * significant after Holm"
    return Sheet(title, ("run", *(names.get(label, label) for label in labels)), tuple(rows))


def _ratings(comparison: Comparison, names: Names) -> Iterator[Sheet]:
    labels = [_numbered(subject.label, names) for subject in comparison.subjects]
    if comparison.ratings:
        yield _rating_sheet("Bradley-Terry ratings, ties as half", labels, comparison.ratings)
    if comparison.ratings_without_ties:
        yield _rating_sheet("Bradley-Terry ratings, ties left out", labels, comparison.ratings_without_ties)


def _rating_sheet(title: str, labels: Sequence[str], found: Ratings) -> Sheet:
    if found.regularised:
        title += "; no finite rating fits a model that never lost, so one tie was added to each pair"
    elif found.regularised_rounds:
        title += f"; in all {found.rounds:,} bootstrap rounds one tie was added to each pair"
    ordered = sorted(zip(labels, found.rows, strict=True), key=lambda one: (one[1].rank, one[0]))
    rows = [
        (
            str(row.rank),
            label,
            f"{row.rating:.0f}",
            f"{row.interval.low:.0f} to {row.interval.high:.0f}",
            ranks_between(row.rank_best, row.rank_worst),
        )
        for label, row in ordered
    ]
    return Sheet(title, ("rank", "run", "rating", "95 % interval", "ranks"), tuple(rows))


def _by_slice(comparison: Comparison, names: Names) -> Iterator[Sheet]:
    for kind in comparison.by:
        rows = [
            (
                pair.slice,
                pair_name(pair, names),
                *difference_cells(pair),
                f"{pair.n_tasks:,}",
                _p(pair.p_holm),
                pair_verdict(pair, names),
            )
            for pair in comparison.slices
            if pair.slice_kind == kind
        ]
        headings = (kind.value, "pair", "difference", "95 % interval", "tasks", "p (Holm)", "verdict")
        title = f"pass@{comparison.k[0]} by {kind.value}, first minus second, in points; {_SLICES_SAID}"
        yield Sheet(title, headings, tuple(rows))


def _grids(comparison: Comparison, names: Names) -> Iterator[Sheet]:
    """One table a model whose runs were asked with different settings."""
    for grid in comparison.grids:
        rows = [
            (*map(setting_value, setting.values), _numbered(setting.label, names), f"pass@{score.k}", *_value(score))
            for setting in grid.settings
            for score in setting.scores
        ]
        headings = (*(name.replace("_", " ") for name in grid.parameters), "run", *_SCORED)
        yield Sheet(f"{grid.model} by {', '.join(grid.parameters).replace('_', ' ')}", headings, tuple(rows))


def setting_value(value: float | str | None) -> str:
    """A parameter's value in words."""
    if value is None:
        return "default"
    return value if isinstance(value, str) else f"{value:g}"


def _solving(comparison: Comparison, names: Names) -> Sheet:
    solved, unsolved = len(comparison.solved_by_all), len(comparison.unsolved_by_all)
    rates = [one.rate for one in comparison.solve_rates]
    mean = percent(math.fsum(rates) / len(rates)) if rates else ""
    rows = (
        ("solved by all runs", f"{solved:,}"),
        ("solved by no run", f"{unsolved:,}"),
        ("mean solve rate", mean),
        *(
            (f"only {names[one.first]}, not {names[one.second]}", f"{len(one.only_first):,}")
            for one in comparison.discordant
        ),
        *(
            (f"only {names[one.second]}, not {names[one.first]}", f"{len(one.only_second):,}")
            for one in comparison.discordant
        ),
    )
    return Sheet("Tasks solved, in at least one sample", ("tasks", "count"), rows)


def rates_sheet(rates: Sequence[Rates], names: Names = _OWN) -> Sheet:
    """What became of each run's samples."""
    headings = ("run", "samples", "truncated", "refused", "timeout", "tampered", "not judged")
    rows = [
        (
            _numbered(row.label, names),
            f"{row.n_samples:,}",
            *(_rate(share) for share in (row.truncated_rate, row.refusal_rate, row.timeout_rate)),
            *(_rate(share) for share in (row.tampered_rate, row.infra_error_rate)),
        )
        for row in rates
    ]
    return Sheet("Samples of each run, over all its tasks; - is not known", headings, tuple(rows))


def _usage(rates: Sequence[Rates], names: Names) -> Sheet:
    usage = [
        (
            _numbered(row.label, names),
            _known(row.prompt_tokens, ",d"),
            _known(row.completion_tokens, ",d"),
            _known(row.reasoning_tokens, ",d"),
            _known(row.cost_usd, ",.4f") + ("" if _all_priced(row) else f" ({row.n_cost_known:,} answers)"),
            _known(row.median_latency_seconds, ".1f"),
            _known(row.cpu_seconds, ",.0f"),
        )
        for row in rates
    ]
    spent = ("run", "tokens in", "out", "of these reasoning", "cost USD", "median answer s", "judging CPU s")
    return Sheet("What each run took; - is not known", spent, tuple(usage))


def _tasks(comparison: Comparison, names: Names) -> list[Sheet]:
    lists = [
        *(
            named
            for one in comparison.discordant
            for named in (
                (f"Solved by {names[one.first]}, not by {names[one.second]}", one.only_first),
                (f"Solved by {names[one.second]}, not by {names[one.first]}", one.only_second),
            )
        ),
        ("Solved by all runs", comparison.solved_by_all),
        ("Solved by no run", comparison.unsolved_by_all),
    ]
    return [Sheet(f"{title}: {len(ids):,}", ("task",), tuple((one,) for one in ids)) for title, ids in lists]


def pair_name(pair: Pair, names: Names = _OWN) -> str:
    """Such as '#1 vs #2', or by the labels where there are no shorter names."""
    return f"{names.get(pair.first, pair.first)} vs {names.get(pair.second, pair.second)}"


def _numbered(label: str, names: Names) -> str:
    return f"{names[label]} {label}" if label in names else label


def _value(score: Score) -> tuple[str, str, str]:
    ends = score.interval
    told = f"{100 * ends.low:.1f} to {100 * ends.high:.1f}" if ends else ""
    return percent(score.value), told, f"{score.n_tasks:,}"


def difference_cells(pair: Pair) -> tuple[str, str]:
    """The difference and its interval, in points."""
    return points(pair.difference), _ends(pair.interval)


def behind_cells(pair: Pair) -> tuple[str, str]:
    """Tasks, and on how many of them each is better."""
    return f"{pair.n_tasks:,}", f"{pair.n_first_better:,} : {pair.n_second_better:,}"


def chance_cells(pair: Pair) -> tuple[str, str]:
    """p, alone and adjusted."""
    return _p(pair.p), _p(pair.p_holm)


def _ends(interval: Interval | None) -> str:
    return f"{points(interval.low)} to {points(interval.high)}" if interval else ""


def points(difference: float) -> str:
    """A difference of shares in points of 100, with its sign; empty where there is none."""
    if math.isnan(difference):
        return ""
    told = f"{100 * difference:+.1f}"
    return "0.0" if float(told) == 0 else told


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {_SMALL_P}" if value < _SMALL_P else f"{value:.3f}"


def ranks_between(best: int, worst: int) -> str:
    """A rank's interval."""
    return str(best) if best == worst else f"{best} to {worst}"


def _rate(share: float | None) -> str:
    return "-" if share is None else percent(share)


def _known(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _all_priced(row: Rates) -> bool:
    return row.cost_usd is None or row.n_cost_known >= row.n_samples


def markdown(made: Sequence[Sheet], notes: Sequence[str]) -> str:
    """The tables as Markdown, the notes in front."""
    parts = [*(f"> {note}\n" for note in notes)]
    for sheet in made:
        lines = [sheet.headings, tuple("---" for _ in sheet.headings), *sheet.rows]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        parts.append(f"### {sheet.title}\n\n{table}\n")
    return "\n".join(parts)
