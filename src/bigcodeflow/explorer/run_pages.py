"""Pages of runs: the list of all runs, and a single run."""

import csv
import io
import json
from collections.abc import Sequence
from itertools import pairwise

from bigcodeflow.core.display_text import csv_cell
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.explorer.catalog import ORDERS, ListedRun, RunFilter, ordered
from bigcodeflow.explorer.changes import changes_of, worse
from bigcodeflow.explorer.pages import CHOICES, ROWS, Page, Portion, Visit
from bigcodeflow.pipeline.live_files import LiveState, live_runs
from bigcodeflow.report import overview
from bigcodeflow.report.overview import Section
from bigcodeflow.report.runs import ReportedRun, reported_run
from bigcodeflow.results.runs import RecordedRun
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
            "worse": worse(changes_of(visit.catalog, visit.version))[:_MOST_WORSE],
        },
    )


def live_page(visit: Visit) -> Page:
    """Make the page of runs in progress."""
    live = live_runs(visit.catalog.store.root, visit.now)
    return Page("live.html", {"live": live, "scores": [_running_score(run) for run in live]})


def _running_score(run: LiveState) -> tuple[float, Interval | None, int] | None:
    """Return the share of passes among the samples judged so far, its 95 % interval, and their number."""
    judged = {kind: count for kind, count in run.outcomes.items() if kind != "infrastructure"}
    if not (n_judged := sum(judged.values())):
        return None
    n_passed = judged.get("", 0)
    return n_passed / n_judged, clustered_interval([1.0] * n_passed + [0.0] * (n_judged - n_passed)), n_judged


def runs_csv(visit: Visit) -> str:
    """Return the runs that match the filters as CSV, in the order of the page; no cell is a formula."""
    runs, _ = _listed(visit, visit.catalog.listed(visit.version, archived=bool(visit.text("archived"))))
    rows = [run.exported() for run in runs]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0] if rows else ())
    for row in rows:
        cells = ["; ".join(value) if isinstance(value, list) else value for value in row.values()]
        writer.writerow(csv_cell(cell) if isinstance(cell, str) else cell for cell in cells)
    return out.getvalue()


def filtered(visit: Visit) -> list[ListedRun]:
    """Return the recorded runs that match the filters of runs in the address, the latest first."""
    return list(filter(_filter(visit).fits, visit.version.runs))


def _listed(visit: Visit, runs: Sequence[ListedRun]) -> tuple[list[ListedRun], str]:
    """Return the runs that match filters and words of the address, in its order, and that order."""
    order = visit.text("sort") if visit.text("sort").removeprefix("-") in ORDERS else "began"
    chosen = _filter(visit)._replace(words=visit.text("q").lower().split(), tag=visit.text("tag"))
    return ordered(list(filter(chosen.fits, runs)), order), order


def _filter(visit: Visit) -> RunFilter:
    equal = {attribute: visit.text(name) for name, attribute in CHOICES.items()}
    return RunFilter(equal, since=visit.day("since"), until=visit.day("until"))


def one_run(visit: Visit, record: str) -> Page:
    """Make the page of a run: scores, failures and settings, with its neighbours in the series."""
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
    """Return the report's sections of a run that are made from its metrics."""
    found = (
        overview.scores([run]),
        overview.pass_at_k([run]),
        overview.reliability([run]),
        overview.failure_kinds([run]),
        *overview.by_traits([run]),
    )
    return [section for section in found if section is not None]


def _facts(run: ListedRun, recorded: RecordedRun) -> list[tuple[str, str]]:
    """Return name and value of the known facts of a run, other than its scores."""
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
