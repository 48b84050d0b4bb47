"""Tables of the study: labels, causes, scores of runs, outdated calls, libraries, evidence."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from bigcodeflow.core.table import Headings, Table
from bigcodeflow.results.comparison.paired_tests import paired_interval
from bigcodeflow.results.formatting import numbers, percent, percent_range
from bigcodeflow.results.statistics import clustered_interval
from bigcodeflow.studies.records import grouped
from bigcodeflow_studies.evolution.causes import CAUSES, LABELS

Row = dict[str, Any]

_FAILING = ("drifts", "dead")
_MOST_EXAMPLES = 5
#: Groups of tasks for which a run's scores are reported, by title.
_GROUPS: Mapping[str, Callable[[Row], bool]] = {
    "all": lambda _row: True,
    "hold": lambda row: row["label"] == "holds",
    "drifted": lambda row: row["label"] == "drifts",
    "dead": lambda row: row["label"] == "dead",
}
_INTERVALS = "Intervals: 95 %, over tasks."


def tables(rows: pa.Table) -> list[Table]:
    """Return six tables: labels, scores, outdated calls, libraries, causes, evidence about tasks that do not hold."""
    found: list[Row] = rows.to_pylist()
    tasks = [row for row in found if not row["run"]]
    runs = grouped((row for row in found if row["run"]), itemgetter("run"))
    return [_labels(tasks), _scores(runs), _outdated(runs), _by_library(tasks), _causes(tasks), _evidence(tasks)]


def _labels(tasks: Sequence[Row]) -> Table:
    counts = Counter(row["label"] for row in tasks)
    lines = [(label, *_share(counts[label], len(tasks)), meaning) for label, meaning in LABELS.items() if len(tasks)]
    environments = " → ".join((tasks[0]["environment"], tasks[0]["current"])) if tasks else ""
    notes = (f"{len(tasks):,} tasks, {environments}. {_INTERVALS}",)
    columns: Headings = ("label", *numbers("tasks", "share"), "95 % interval", "meaning")
    return Table.of(columns, lines, title="Tasks under newer libraries", notes=notes)


def _share(count: int, total: int) -> tuple[int, str, str]:
    scores = [1.0] * count + [0.0] * (total - count)
    return count, percent(count / total), percent_range(clustered_interval(scores))


def _scores(runs: Mapping[str, Sequence[Row]]) -> Table:
    lines = []
    for run, rows in runs.items():
        for title, belongs in _GROUPS.items():
            if group := list(filter(belongs, rows)):
                lines.append((run, title, len(group), sum(row["n_samples"] for row in group), *_scores_of(group)))
    note = (
        "Mean over tasks of the share of samples that pass, in the older and in the newer environment; the difference "
        "in points is paired by task."
    )
    counts = numbers("tasks", "samples", "older", "newer", "difference")
    columns: Headings = ("run", "tasks that", *counts, "95 % interval")
    return Table.of(columns, lines, title="Recorded runs in both environments", notes=(note, _INTERVALS))


def _scores_of(rows: Sequence[Row]) -> tuple[str, str, str, str]:
    before = [row["n_passed_before"] / row["n_samples"] for row in rows]
    now = [row["n_passed_now"] / row["n_samples"] for row in rows]
    differences = [after - earlier for earlier, after in zip(before, now, strict=True)]
    ends, mean = paired_interval(differences), sum(differences) / len(rows)
    shares = percent(sum(before) / len(rows)), percent(sum(now) / len(rows))
    return *shares, f"{100 * mean:+.1f}", f"{100 * ends.low:+.1f} to {100 * ends.high:+.1f}"


def _outdated(runs: Mapping[str, Sequence[Row]]) -> Table:
    lines = []
    for run, rows in runs.items():
        uses: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
        for row in rows:
            for call in row["outdated"]:
                uses[call["name"], call["library"], call["kind"]].append((row["task_id"], call["evidence"]))
        for (name, library, kind), found in sorted(uses.items(), key=lambda one: (-len(one[1]), one[0])):
            tasks = list(dict.fromkeys(task for task, _ in found))
            examples = ", ".join(tasks[:_MOST_EXAMPLES])
            lines.append((run, name, library, kind, len(found), len(tasks), examples, found[0][1]))
    columns: Headings = ("run", "name", "library", "kind", *numbers("samples", "tasks"), "examples", "evidence")
    note = "Functions of libraries that failing programs use and the newer environment lacks."
    return Table.of(columns, lines, title="Outdated calls", notes=(note,))


def _by_library(tasks: Sequence[Row]) -> Table:
    judged = [row for row in tasks if row["label"] != "unjudgeable"]
    users: dict[str, list[Row]] = defaultdict(list)
    versions: dict[str, str] = {}
    for row in judged:
        for one in row["libraries"]:
            users[one["library"]].append(row)
            versions[one["library"]] = f"{one['before'] or 'none'} → {one['now'] or 'none'}"
    responsible = Counter(row["library"] for row in judged if row["label"] in _FAILING)
    lines = [
        (library, versions[library], len(rows), *_counts(rows), responsible[library])
        for library, rows in sorted(users.items(), key=lambda one: (-responsible[one[0]], -len(one[1]), one[0]))
    ]
    counts = numbers("tasks", "hold", "drift", "dead", "drift or dead")
    columns: Headings = ("library", "version", *counts, "95 % interval", *numbers("responsible"))
    note = (
        "Tasks whose setup, reference solution or test import the library, without those that cannot be judged. A "
        "failing task counts for each of its libraries; the last column counts it once, for the library that its "
        f"traceback holds responsible. {_INTERVALS}"
    )
    return Table.of(columns, lines, title="Drift by library", notes=(note,))


def _counts(rows: Sequence[Row]) -> tuple[int, int, int, str, str]:
    counts = Counter(row["label"] for row in rows)
    failing = counts["drifts"] + counts["dead"]
    _, share, ends = _share(failing, len(rows))
    return counts["holds"], counts["drifts"], counts["dead"], share, ends


def _causes(tasks: Sequence[Row]) -> Table:
    counts = Counter((row["label"], row["cause"]) for row in tasks if row["cause"])
    lines = [
        (label, cause, counts[label, cause], meaning)
        for label in LABELS
        for cause, meaning in CAUSES.items()
        if counts[label, cause]
    ]
    return Table.of(("label", "cause", *numbers("tasks"), "meaning"), lines, title="Causes")


def _evidence(tasks: Sequence[Row]) -> Table:
    names = ("task_id", "label", "cause", "library", "basis", "place", "evidence")
    failing = [row for label in LABELS for row in tasks if row["label"] == label != "holds"]
    columns: Headings = ("task", "label", "cause", "library", "read from", "place", "evidence")
    return Table.of(columns, [[row[name] for name in names] for row in failing], title="Tasks that do not hold")
