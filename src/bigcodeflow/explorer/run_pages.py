"""Pages of runs: the list of all runs, and a single run."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.explorer.catalog import ListedRun, utc
from bigcodeflow.explorer.changes import changes_of, worse
from bigcodeflow.explorer.pages import CHOICES, ROWS, Page, Portion, Visit
from bigcodeflow.pipeline.live_files import live_runs
from bigcodeflow.report import overview
from bigcodeflow.report.overview import Section
from bigcodeflow.report.runs import ReportedRun, reported_run
from bigcodeflow.results.runs import RecordedRun

#: Sort orders by query value, the default first: label, and key of a run; runs whose key is None come last.
_ORDERS: Mapping[str, tuple[str, Callable[[ListedRun], Any]]] = {
    "latest": ("latest first", lambda run: run.started_at),
    "oldest": ("oldest first", lambda run: run.started_at),
    "score": ("highest score first", lambda run: run.pass_at_k),
    "cost": ("dearest first", lambda run: run.cost_usd),
    "model": ("by model", lambda run: run.title),
}
_ASCENDING = ("oldest", "model")
_MOST_WORSE = 3


def all_runs(visit: Visit) -> Page:
    """Make the page of all recorded runs that match the filters."""
    found = filtered(visit, words=visit.text("q").lower().split())
    order = visit.text("sort") if visit.text("sort") in _ORDERS else "latest"
    runs = _ordered(found, order)
    portion = Portion.of(visit, len(runs))
    given = {name: visit.text(name) for name in (*CHOICES, "q", "since", "until")}
    return Page(
        "runs.html",
        {
            "runs": runs[portion.first :][:ROWS],
            "portion": portion,
            "n_all": len(visit.version.runs),
            "given": given,
            "order": order,
            "orders": {name: words for name, (words, _) in _ORDERS.items()},
            "choices": visit.choices(),
            "live": live_runs(visit.catalog.store.root, visit.now),
            "worse": worse(changes_of(visit.catalog, visit.version))[:_MOST_WORSE],
        },
    )


def live_page(visit: Visit) -> Page:
    """Make the page of runs in progress."""
    return Page("live.html", {"live": live_runs(visit.catalog.store.root, visit.now)})


def filtered(visit: Visit, *, words: Sequence[str] = ()) -> list[ListedRun]:
    """Return the runs that match the filters in the address and contain all words, the latest first.

    Words are in lower case; they are looked up in title, name and record name of a run.
    """
    wanted = {attribute: text for name, attribute in CHOICES.items() if (text := visit.text(name))}
    since, until = visit.day("since"), visit.day("until")

    def fits(run: ListedRun) -> bool:
        day = utc(run.started_at).date()
        text = f"{run.title}\n{run.run}\n{run.record}".lower()
        return (
            all(getattr(run, attribute) == value for attribute, value in wanted.items())
            and (since is None or day >= since)
            and (until is None or day <= until)
            and all(word in text for word in words)
        )

    return [run for run in visit.version.runs if fits(run)]


def _ordered(runs: Sequence[ListedRun], order: str) -> list[ListedRun]:
    key = _ORDERS[order][1]
    known = [run for run in runs if key(run) is not None]
    return sorted(known, key=key, reverse=order not in _ASCENDING) + [run for run in runs if key(run) is None]


def one_run(visit: Visit, record: str) -> Page:
    """Make the page of a run: scores, failures and settings, with its neighbours in the series."""
    listed = visit.run(record)
    recorded = visit.catalog.recorded(listed)
    nights = visit.version.series[listed.series]
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
