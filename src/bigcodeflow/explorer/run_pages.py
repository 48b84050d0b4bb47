"""Pages of runs: the list of all runs, and a single run."""

import csv
import io
import json
from collections.abc import Sequence
from itertools import pairwise

from bigcodeflow.core.display_text import csv_cell
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.table import Column, Table
from bigcodeflow.explorer.catalog import ORDERS, ListedRun, RunFilter, ordered
from bigcodeflow.explorer.changes import changes_of
from bigcodeflow.explorer.pages import CHOICES, ROWS, Page, Portion, Visit
from bigcodeflow.pipeline.live_files import LiveState, ended_runs, live_runs
from bigcodeflow.report import overview
from bigcodeflow.report.overview import Section
from bigcodeflow.report.runs import ReportedRun, reported_run
from bigcodeflow.results.formatting import interval, named_model, numbers, percent, percent_range
from bigcodeflow.results.published import N_TASKS, published_score
from bigcodeflow.results.runs import RecordedRun, split_mismatch
from bigcodeflow.results.statistics import Interval, clustered_interval

_MOST_WORSE = 3


def all_runs(visit: Visit) -> Page:
    """Make the page of all runs that match the filters, finished or not."""
    every = visit.catalog.listed(visit.version, archived=bool(visit.text("archived")))
    runs, order = _listed(visit, every)
    portion = Portion.of(visit, len(runs))
    given = {name: visit.text(name) for name in (*CHOICES, "q", "tag", "since", "until", "archived")}
    return Page(
        "runs.html",
        {
            "runs": runs[portion.first :][:ROWS],
            "portion": portion,
            "n_all": len(every),
            "n_archived": len(visit.version.archived),
            "given": given,
            "order": order,
            "choices": visit.choices() | {"tag": sorted({tag for run in every for tag in run.tags})},
            "live": live_runs(visit.catalog.store.root, visit.now),
            "worse": [change for change in changes_of(visit.catalog, visit.version) if change.is_worse][:_MOST_WORSE],
        },
    )


def live_page(visit: Visit) -> Page:
    """Make the page of runs in progress."""
    live = live_runs(visit.catalog.store.root, visit.now)
    return Page("live.html", {"live": live, "scores": [_running_score(run) for run in live]})


def _running_score(run: LiveState) -> tuple[float, Interval | None, int] | None:
    """Return the passing share of the judged samples, its 95 % interval, and their number; None if none is judged."""
    judged = {kind: count for kind, count in run.outcomes.items() if kind != "infrastructure"}
    if not (n_judged := sum(judged.values())):
        return None
    share = judged.get("", 0) / n_judged
    # Samples of a task may all end alike: only tasks count as independent, or the interval would be too narrow.
    n_tasks = max(1, n_judged // int(run.config.get("generation", {}).get("n_samples") or 1))
    n_solved = round(share * n_tasks)
    return share, clustered_interval([1.0] * n_solved + [0.0] * (n_tasks - n_solved)), n_judged


def runs_csv(visit: Visit) -> str:
    """Return the runs that match the address's filters as CSV, in the page's order; no cell is a formula."""
    runs, _ = _listed(visit, visit.catalog.listed(visit.version, archived=bool(visit.text("archived"))))
    rows = [run.exported() for run in runs]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0] if rows else ())
    for row in rows:
        cells = ["; ".join(value) if isinstance(value, list) else value for value in row.values()]
        writer.writerow(csv_cell(cell) if isinstance(cell, str) else cell for cell in cells)
    return out.getvalue()


def _listed(visit: Visit, runs: Sequence[ListedRun]) -> tuple[list[ListedRun], str]:
    """Return the runs that match the address's filters and words, sorted, and the name of their order in ORDERS."""
    order = visit.text("sort") if visit.text("sort").removeprefix("-") in ORDERS else "began"
    chosen = run_filter(visit)._replace(words=visit.text("q").lower().split(), tag=visit.text("tag"))
    return ordered(list(filter(chosen.fits, runs)), order), order


def run_filter(visit: Visit) -> RunFilter:
    """Return the filter of runs from the parameters of the address, except the words (q) and the tag."""
    equal = {attribute: visit.text(name) for name, attribute in CHOICES.items()}
    return RunFilter(equal, since=visit.day("since"), until=visit.day("until"))


def one_run(visit: Visit, record: str) -> Page:
    """Make the page of a run: scores, failures and settings, with links to the runs before and after it in its series.

    For a run that ended without a record, the page shows how the run ended.
    """
    if record not in visit.version.by_record:
        for ended in ended_runs(visit.catalog.store.root):
            if ended.run_id == record:
                config = json.dumps(ended.config, indent=2, sort_keys=True)
                return Page("ended.html", {"run": ListedRun.of_ended(ended), "state": ended, "config": config})
    listed = visit.run(record)
    recorded = visit.catalog.recorded(listed)
    nights = visit.version.series.get(listed.series, ())  # archived runs are of no series
    earlier = next((before for after, before in pairwise(nights) if after == listed), None)
    later = next((after for after, before in pairwise(nights) if before == listed), None)
    try:
        reported, problem = reported_run(recorded), ""
    except ArtifactError as error:
        reported, problem = None, str(error)
    return Page(
        "run.html",
        {
            "run": listed,
            "labels": recorded.labels,
            "can_retry": not recorded.imported,
            "earlier": earlier,
            "later": later,
            "n_nights": len(nights),
            "problem": problem,
            "tiles": overview.tiles(reported) if reported else [],
            "sections": _sections(reported) if reported else [],
            "facts": _facts(listed, recorded),
            "config": json.dumps(recorded.config, indent=2, sort_keys=True),
        },
    )


def _sections(run: ReportedRun) -> list[Section]:
    """Return the report's sections that are made from the metrics of a run."""
    found = (
        overview.scores([run]),
        _beside_leaderboard(run),
        overview.pass_at_k([run]),
        overview.reliability([run]),
        overview.failure_kinds([run]),
        *overview.by_traits([run]),
    )
    return [section.without("run") for section in found if section is not None]


def _beside_leaderboard(run: ReportedRun) -> Section | None:
    """Compare the run's pass@1 with the published score, over all tasks and over tasks whose ground truth passes here.

    Return None if no board ranks the run, or if there is no published score and every ground truth passes.
    """
    of = run.recorded
    n_tasks = next((number for subset, number in N_TASKS.items() if subset == of.subset), 0)
    score = next((row for row in run.of_lead("pass@k") if row["k"] == 1 and row["n_tasks"] == n_tasks), None)
    is_other = of.control or of.contradicted_tasks or of.task_variants or split_mismatch(of)
    if not score or is_other or "ground_truth" not in of.keys:
        return None
    truths = read_artifact(of.path("ground_truth"), ["task_id", "status"]).to_pylist()
    failing = sorted({row["task_id"] for row in truths if row["status"] != "pass"})
    model = named_model(of.model)
    published = None if model.revision else published_score(model.name, of.subset, of.split)
    common = next((row for row in run.of_lead("pass@k_judgeable") if row["k"] == 1), None)
    if published is None and not failing:
        return None
    rows = [("all", n_tasks, percent(score["value"]), "" if published is None else percent(published), interval(score))]
    lead = "The published figure counts all tasks; prompts, sampling or the hosted model may differ."
    if failing and common:
        ends = published and _over_common(published, n_tasks, common["n_tasks"])
        rows += [("common", common["n_tasks"], percent(common["value"]), percent_range(ends or None), interval(common))]
        lead += (
            f" Common tasks are those whose own solution passes here. It fails in {len(failing):,}, which no model can "
            f"pass: {', '.join(failing)}. The range is what the published figure can be over the common tasks."
        )
    headings: tuple[str | Column, ...] = ("tasks", *numbers("count", "pass@1 here", "published", "95 % interval"))
    return Section("leaderboard", "Beside the leaderboard", lead, Table.of(headings, rows))


def _over_common(score: float, n_tasks: int, n_common: int) -> tuple[float, float]:
    """Return the lowest and highest possible score over ``n_common`` tasks if that over ``n_tasks`` is ``score``."""
    solved, others = score * n_tasks, n_tasks - n_common
    return max(0.0, solved - others) / n_common, min(1.0, solved / n_common)


def _facts(run: ListedRun, recorded: RecordedRun) -> list[tuple[str, str]]:
    """Return the names and values of a run's known facts, without its scores."""
    config = recorded.config
    asked = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in recorded.parameters.items() if value != "")
    facts = [
        ("record", run.record),
        ("name", run.run),
        ("note", run.note),
        ("model", str(config.get("generation", {}).get("model") or run.model)),
        ("answers come from", run.source or ""),
        ("asked with", asked),
        ("tasks", str(config.get("dataset", {}).get("source", ""))),
        ("sanitizer", run.sanitizer or ""),
        ("environment", run.environment or ""),
        ("backend", str(config.get("execution", {}).get("backend", ""))),
        ("tasks in quarantine", f"{len(recorded.quarantined):,}" if recorded.quarantined else ""),
    ]
    return [(name, value) for name, value in facts if value]
