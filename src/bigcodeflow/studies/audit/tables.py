"""Tables of an audit: figures by kind, the mutation score, and every finding with its evidence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from bigcodeflow.core.table import Column, Table
from bigcodeflow.results.formatting import percent_range
from bigcodeflow.results.statistics import estimate
from bigcodeflow.studies.audit.findings import COUNTED, UNDECIDED, score_of

Row = Mapping[str, Any]

_FINDING = (
    Column("task", wrap="never"),
    Column("kind", wrap="never"),
    "found by",
    Column("line", "right"),
    "before",
    "after",
    Column("evidence", min_width=30),
)
_COMMAND = "`bigcodeflow audit show TASK` has the command that shows a task's findings again."
_WEAKEST = 50


def tables(rows: pa.Table) -> list[Table]:
    """Return the figures, the tasks whose tests notice the fewest mutants, the findings, and the undecided rows."""
    found = rows.to_pylist()
    counted = [row for row in found if row["kind"] == COUNTED]
    findings = [row for row in found if row["kind"] not in (COUNTED, UNDECIDED)]
    undecided = [row for row in found if row["kind"] == UNDECIDED]
    return [
        figures(found),
        _weakest(counted),
        _listed(findings, "Findings"),
        _listed(undecided, "Undecided: mutants that may be equivalent, tests that models fail alike"),
    ]


def figures(rows: Sequence[Row]) -> Table:
    """Count findings and tasks by kind, and add a note on the mutation score of all tasks."""
    counted = [row for row in rows if row["kind"] == COUNTED]
    kinds = Counter(row["kind"] for row in rows if row["kind"] != COUNTED)
    tasks = {kind: len({row["task_id"] for row in rows if row["kind"] == kind}) for kind in kinds}
    cells = [(kind, count, tasks[kind]) for kind, count in kinds.most_common()]
    columns = ("kind", Column("findings", "right"), Column("tasks", "right"))
    return Table.of(columns, cells, title="Findings by kind", notes=[_score_note(counted)])


def _score_note(counted: Sequence[Row]) -> str:
    """Describe the mutation score, with equal weight for each task, and the counts of all mutants."""
    scores = [score for row in counted if (score := score_of(row)) is not None]
    found = estimate(scores)
    killed, survived = (sum(row[name] for row in counted) for name in ("killed", "survived"))
    apart, equivalent = (sum(row[name] for row in counted) for name in ("apart", "equivalent"))
    if not scores or found.interval is None:
        return "No mutant could be judged."
    interval = percent_range(found.interval)
    return (
        f"Mutation score: {100 * found.value:.1f} % ({interval}) as the mean of {len(scores):,} tasks; {killed:,} of "
        f"{killed + survived:,} mutants are noticed. Not counted: {apart:,} mutants of code that tests do not observe. "
        f"Before mutants were drawn, {equivalent:,} changes were left out that mean the same."
    )


def _weakest(counted: Sequence[Row]) -> Table:
    scored = [(score_of(row), row) for row in counted]
    ordered = sorted(((score, row) for score, row in scored if score is not None), key=lambda one: one[0])
    share = Column("mutation score", "right", format=lambda value: f"{100 * value:.0f} %")
    names = ("killed", "survived", "apart", "equivalent", "unjudged")
    columns: Sequence[str | Column] = ("task", share, *(Column(name, "right") for name in names))
    rows = [(row["task_id"], score, *(row[name] for name in names)) for score, row in ordered[:_WEAKEST]]
    more = len(ordered) - len(rows)
    notes = [f"The {_WEAKEST} tasks whose tests notice least; {more:,} more are in the catalog."] if more > 0 else []
    return Table.of(columns, rows, title="Mutation score by task", notes=notes)


def _listed(rows: Sequence[Row], title: str) -> Table:
    names = ("task_id", "kind", "method", "line", "before", "after", "text")
    cells = [[row[name] for name in names] for row in rows]
    return Table.of(_FINDING, cells, title=title, notes=[_COMMAND])
