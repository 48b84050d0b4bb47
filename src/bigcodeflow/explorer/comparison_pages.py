"""Comparison page of two or more runs: the report's comparison, and the tasks on which two runs differ."""

from collections.abc import Sequence

from bigcodeflow.explorer.catalog import ListedRun
from bigcodeflow.explorer.pages import AddressError, Page, Visit
from bigcodeflow.report import charts, overview
from bigcodeflow.report.comparisons import compared, comparison_sections, lead_runs
from bigcodeflow.report.overview import Section
from bigcodeflow.report.runs import labelled, reported_run
from bigcodeflow.results.comparison.comparison import Comparison
from bigcodeflow.results.comparison.pairs import Pair, pair_verdict
from bigcodeflow.results.comparison.text_tables import points
from bigcodeflow.results.models import Row

#: Most runs on the page; more would take seconds, and colours could not distinguish them.
MOST_RUNS = charts.MOST_COLOURS
_MOST_TASKS = 100
_FEWEST = 2


def compare_page(visit: Visit) -> Page:
    """Make the page that compares the runs in the address; raise AddressError for more than MOST_RUNS."""
    records = list(dict.fromkeys(visit.query.getlist("run")))
    if len(records) > MOST_RUNS:
        raise AddressError(f"{len(records)} runs are too many: compare up to {MOST_RUNS} here, or more with "
                           "`bigcodeflow compare --html`")  # fmt: skip
    listed = [visit.run(record) for record in records]
    if len(listed) < _FEWEST:
        return Page("compare.html", {"runs": listed})
    sliced = bool(visit.text("slices"))
    labels, sections, verdicts = visit.version.kept(
        ("comparison", sliced, *records), lambda: _compared(visit, listed, sliced=sliced)
    )
    tasks = changed_tasks(visit, *listed) if len(listed) == _FEWEST else []
    return Page(
        "compare.html",
        {
            "runs": listed,
            "sections": sections,
            "tasks": tasks[:_MOST_TASKS],
            "n_tasks": len(tasks),
            "labels": labels,
            "verdicts": verdicts,
            "records": records,
            "sliced": sliced,
        },
    )


def _compared(
    visit: Visit, listed: Sequence[ListedRun], *, sliced: bool
) -> tuple[Sequence[str], Sequence[Section], Sequence[str]]:
    """Return labels of the runs, the report's sections about them, and a sentence with the verdict on each pair."""
    reported = labelled([reported_run(run) for run in map(visit.catalog.recorded, listed)])
    # Keep the order of the address, as do the page's title and its list of tasks.
    found = compared(reported, lead_runs(reported), sliced=sliced, best_first=False)
    sections = [overview.scores(reported), *comparison_sections(found)]
    sections.append(overview.failure_kinds(reported) or Section("failure-kinds", "Failures", "No sample failed."))
    verdicts = (
        [_sentence(pair) for pair in found.pairs if pair.k == found.k[0]] if isinstance(found, Comparison) else []
    )
    return [run.label for run in reported], sections, verdicts


def _sentence(pair: Pair) -> str:
    """Return a sentence such as 'a is better: a scores +3.1 points against b (95 % interval +0.4 to +5.8); …'."""
    if pair.interval is None or pair.p_holm is None:
        return f"{pair.first} and {pair.second}: {pair_verdict(pair)}"
    ends = f"{points(pair.interval.low)} to {points(pair.interval.high)}"
    better = f"it does better on {pair.n_first_better:,} and worse on {pair.n_second_better:,}"
    return (
        f"{pair_verdict(pair)}: {pair.first} scores {points(pair.difference)} points against {pair.second} (95 % "
        f"interval {ends}); of {pair.n_tasks:,} common tasks {better}."
    )


def changed_tasks(visit: Visit, first: ListedRun, second: ListedRun) -> list[Row]:
    """Return the tasks on which the runs' shares of passing samples differ, those where ``second`` is worse first."""
    if not (first.execution_key and second.execution_key):
        return []
    parameters: dict[str, object] = {
        f"{name}{part}": value
        for name, run in (("first", first), ("second", second))
        for part, value in (("", run.execution_key), ("_variant", run.variant), ("_sanitizer", run.sanitizer))
    }
    parameters["left_out"] = visit.catalog.left_out(first, second)
    return visit.version.rows("changed_tasks", **parameters)
