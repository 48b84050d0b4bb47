"""Pages of samples: the search over all runs, and a single sample in detail."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bigcodeflow.core.difficulty import LEVELS, Difficulty, published_solve_rates
from bigcodeflow.explorer.catalog import ListedRun
from bigcodeflow.explorer.pages import CHOICES, NotThereError, Page, Visit
from bigcodeflow.explorer.run_pages import run_filter
from bigcodeflow.explorer.search import SampleQuery, search
from bigcodeflow.report.samples import notices, parts, steps
from bigcodeflow.results.inspection.samples import Filters, identity_of, inspect_run

_WORD = re.compile(r'"[^"]+"|\S+')
_MOST_WORDS = 8
_MOST_ELSEWHERE = 40
#: Values of the filter 'passed': label, and range of a task's share of passing samples (`CatalogVersion.pass_shares`).
_PASSED_HERE: Mapping[str, tuple[str, Difficulty]] = {
    "never": ("in no run", Difficulty(0.0, 0.0)),
    "sometimes": ("in some", Difficulty(math.nextafter(0.0, 1), math.nextafter(1.0, 0))),
    "always": ("in every run", Difficulty(1.0, 1.0)),
}
#: Filters of the form on samples.
_OWN = ("q", "status", "kind", "variant", "difficulty", "passed")
#: Filters of the form on the samples' runs.
_OF_RUN = ("run", *CHOICES)


def samples(visit: Visit) -> Page:
    """Make the page of the samples of all runs that match the filters and the words."""
    given = {name: visit.text(name) for name in (*_OWN, *_OF_RUN)}
    one = visit.run(given["run"]) if given["run"] else None
    words = [word.strip('"') for word in _WORD.findall(given["q"].lower())][:_MOST_WORDS]
    deep = bool(visit.text("deep") and words)
    # Of several records of the same execution, the latest stands for all.
    latest: dict[str, ListedRun] = {}
    for run in [one] if one else filter(run_filter(visit).fits, visit.version.runs):
        if run.execution_key:
            latest.setdefault(run.execution_key, run)
    query = SampleQuery(
        artifacts=[(key, _hits(words, f"{run.title}\n{run.run}".lower())) for key, run in latest.items()],
        tasks=_tasks(visit, words, given),
        words=words,
        also=_holding(visit, one, words) if one and deep else (),
        status=given["status"],
        kind=given["kind"],
        variant=given["variant"],
    )
    found, runs = search(visit, query), list(latest.values())
    return Page(
        "samples.html",
        {
            "rows": [row | {"run": runs[row["number"]]} for row in found.rows],
            "found": found,
            "given": given,
            "deep": deep,
            "one": one,
            "choices": visit.choices(),
            "difficulties": {
                name: f"{name}: {100 * low:.0f} to {100 * high:.0f} %" for name, (low, high) in LEVELS.items()
            },
            "passed": {name: words for name, (words, _) in _PASSED_HERE.items()},
            "pass_shares": visit.version.pass_shares,
        },
    )


def _hits(words: Sequence[str], text: str) -> int:
    """Return a bit mask of words: bit i is set if word i occurs in the text."""
    return sum(1 << number for number, word in enumerate(words) if word in text)


def _tasks(visit: Visit, words: Sequence[str], given: Mapping[str, str]) -> dict[str, int]:
    """Return the ids of tasks that match the filters 'difficulty' and 'passed', in the order of the dataset.

    Each id maps to a bit mask of the words that occur in the task's libraries and domains, see `_hits`.
    """
    level = LEVELS.get(given["difficulty"])
    _, here = _PASSED_HERE.get(given["passed"], ("", None))
    published, shares = published_solve_rates() if level else {}, visit.version.pass_shares
    return {
        task_id: _hits(words, " ".join((*row["libs"], *row["domains"])).lower())
        for task_id, row in visit.version.tasks.items()
        if (level is None or level.holds(published.get(task_id, math.nan)))
        and (here is None or here.holds(shares.get(task_id, math.nan)))
    }


def _holding(visit: Visit, run: ListedRun, words: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return the identities of the run's samples that have every word in their program, traces or output."""
    with inspect_run(visit.catalog.recorded(run)) as opened:
        found = [opened.samples(Filters(statuses=("all",), text=word)) for word in words]
    return set.intersection(*({identity_of(row) for row in rows} for rows in found))


def sample(visit: Visit) -> Page:
    """Make the page of a sample with all of its data: prompt, answer, program, verdict, traces, times."""
    run = visit.run(visit.text("run"))
    task_id, index = visit.text("task"), visit.number("sample", 0)
    with inspect_run(visit.catalog.recorded(run)) as opened:
        details = opened.task_details(task_id)
        absent = list(opened.absent)
    variant, sanitizer = visit.text("variant"), visit.text("sanitizer")
    fitting = [
        one
        for one in details
        if one.sample_index == index and variant in ("", one.variant) and sanitizer in ("", one.sanitizer)
    ]
    if not fitting:
        raise NotThereError(
            f"run {run.record} has no sample {index} of task {task_id[:200]!r} with variant {variant or 'any'} and "
            f"sanitizer {sanitizer or 'any'}: choose another on the run's page"
        )
    detail = fitting[0]
    # The nearest tasks before and after this one that have samples of the run which did not pass.
    chosen = {"artifact": run.execution_key, "dataset": run.dataset_key, "task_id": task_id}
    [neighbours] = visit.version.rows("failing_neighbours", **chosen, variant=run.variant, sanitizer=run.sanitizer)
    return Page(
        "sample.html",
        {
            "run": run,
            "detail": detail,
            "siblings": details,
            "absent": absent,
            "task": visit.version.tasks.get(task_id),
            "solve_rate": published_solve_rates().get(task_id),
            "pass_share": visit.version.pass_shares.get(task_id),
            "notices": notices(detail),
            "steps": steps(detail),
            "parts_of_sample": list(parts(detail)),
            **neighbours,
            "elsewhere": _elsewhere(visit, run, task_id),
        },
    )


def _elsewhere(visit: Visit, run: ListedRun, task_id: str) -> list[dict[str, Any]]:
    """Return verdicts on the task in other runs: in the latest run of each series with the same split."""
    others = [runs[0] for runs in visit.version.series.values() if runs[0].split == run.split]
    others = [other for other in others if other.record != run.record and other.execution_key]
    rows = visit.version.rows(
        "elsewhere", artifacts=sorted({other.execution_key for other in others if other.execution_key}), task_id=task_id
    )
    outcomes: dict[tuple[str, str | None, str | None], list[dict[str, Any]]] = {}
    for row in rows:
        outcomes.setdefault((row["artifact"], row["variant"], row["sanitizer"]), []).append(row)
    found = [
        {"run": other, "outcomes": outcomes[key]}
        for other in others
        if (key := (other.execution_key or "", other.variant, other.sanitizer)) in outcomes
    ]
    return found[:_MOST_ELSEWHERE]
