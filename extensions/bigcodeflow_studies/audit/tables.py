"""Tables of an audit: numbers of findings by kind, mutation scores, and every finding with its evidence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.table import Column, Headings, Table
from bigcodeflow.generation.controls import oracle
from bigcodeflow.results.formatting import numbers, percent_range
from bigcodeflow.results.statistics import estimate
from bigcodeflow.store import Store
from bigcodeflow.studies.records import StudyRecord, recorded_studies
from bigcodeflow_studies.audit.findings import COUNTED, UNDECIDED

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
    """Return four tables: findings by kind, tasks with the lowest mutation scores, findings, undecided findings."""
    found = rows.to_pylist()
    counted = [row for row in found if row["kind"] == COUNTED]
    findings = [row for row in found if row["kind"] not in (COUNTED, UNDECIDED)]
    undecided = [row for row in found if row["kind"] == UNDECIDED]
    return [
        _figures(found),
        _weakest(counted),
        _listed(findings, "Findings"),
        _listed(undecided, "Undecided: mutants that may be equivalent, tests that models fail alike"),
    ]


def _figures(rows: Sequence[Row]) -> Table:
    """Return a table of findings and tasks by kind, with a note on the mutation score of all tasks."""
    found = [row for row in rows if row["kind"] != COUNTED]
    kinds = Counter(row["kind"] for row in found)
    tasks = Counter(kind for kind, _ in {(row["kind"], row["task_id"]) for row in found})
    cells = [(kind, count, tasks[kind]) for kind, count in kinds.most_common()]
    notes = [_score_note([row for row in rows if row["kind"] == COUNTED])]
    return Table.of(("kind", *numbers("findings", "tasks")), cells, title="Findings by kind", notes=notes)


def _scored(counted: Sequence[Row]) -> list[tuple[float, Row]]:
    """Return (killed / (killed + survived), row) for each row of counts; skip tasks of which no mutant was judged."""
    pairs = ((row["killed"], row["killed"] + row["survived"], row) for row in counted)
    return [(killed / total, row) for killed, total, row in pairs if total]


def _score_note(counted: Sequence[Row]) -> str:
    """Return a sentence with the mutation score, the mean over tasks, and the counts of all mutants."""
    found = estimate([score for score, _ in _scored(counted)])
    names = ("killed", "survived", "apart", "equivalent")
    killed, survived, apart, equivalent = (sum(row[name] for row in counted) for name in names)
    if found.interval is None:
        return "No mutant could be judged."
    return (
        f"Mutation score: {100 * found.value:.1f} % ({percent_range(found.interval)}) as the mean of "
        f"{found.n_tasks:,} tasks; {killed:,} of {killed + survived:,} mutants are noticed. "
        f"Not counted: {apart:,} mutants of code that tests do not observe. "
        f"Before mutants were drawn, {equivalent:,} changes were left out that mean the same."
    )


def _weakest(counted: Sequence[Row]) -> Table:
    ordered = sorted(_scored(counted), key=lambda one: one[0])
    share = Column("mutation score", "right", format=lambda value: f"{100 * value:.0f} %")
    names = ("killed", "survived", "apart", "equivalent", "unjudged")
    columns: Headings = ("task", share, *numbers(*names))
    rows = [(row["task_id"], score, *(row[name] for name in names)) for score, row in ordered[:_WEAKEST]]
    more = len(ordered) - len(rows)
    notes = [f"The {_WEAKEST} tasks whose tests notice least; {more:,} more are in the catalog."] if more > 0 else []
    return Table.of(columns, rows, title="Mutation score by task", notes=notes)


def _listed(rows: Sequence[Row], title: str) -> Table:
    names = ("task_id", "kind", "method", "line", "before", "after", "text")
    cells = [[row[name] for name in names] for row in rows]
    return Table.of(_FINDING, cells, title=title, notes=[_COMMAND])


def shown(store: Store, task: str) -> tuple[list[Table], str]:
    """Return tables about ``task`` in the latest audit, and the task's program and test as text with line numbers.

    Raises:
        ArtifactError: no audit in the store contains the task.
    """
    for record in recorded_studies(store):
        if record.ref.stage != "audit":
            continue
        rows = store.read(record.ref)
        mine = [one for one in map(str, rows["task_id"].to_pylist()) if task in (one, one.rpartition("/")[2])]
        if mine:
            import pyarrow.compute as pc

            own = rows.filter(pc.field("task_id") == mine[0])
            commands = dict.fromkeys((row["method"], row["command"]) for row in own.to_pylist())
            again = Table.of(("found by", "shows it again"), list(commands), title="Commands")
            return [*tables(own), again], _code(store, record, mine[0])
    command = f"bigcodeflow audit --ids {task} --store {store.location}"
    raise ArtifactError(f"{store.location}: has no audit of the task {task!r}: run `{command}` first")


def _code(store: Store, record: StudyRecord, task_id: str) -> str:
    ref = store.find("dataset", str(record.settings.get("dataset", "")))
    for task in store.read(ref).to_pylist() if ref else ():
        if task["task_id"] == task_id:
            return f"# program\n{_numbered(oracle(task))}\n\n# test\n{_numbered(task['test'])}"
    return ""


def _numbered(text: str) -> str:
    return "\n".join(f"{number:>4} {line}" for number, line in enumerate(text.splitlines(), start=1))
