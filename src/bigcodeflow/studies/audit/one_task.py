"""Findings of the latest audit in a store about one task, with its texts."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.table import Table
from bigcodeflow.store import Store
from bigcodeflow.studies.audit.tables import tables
from bigcodeflow.studies.records import StudyRecord, recorded_studies

_STUDY = "audit"


class OneTask(NamedTuple):
    """Findings and code of one task."""

    tables: list[Table]
    code: str
    """Program and test of the latest audit, with line numbers."""


def shown(store: Store, task: str) -> OneTask:
    """Return the findings of the latest audit that has the task; else raise ArtifactError with the command to run."""
    for record in recorded_studies(store):
        if record.ref.stage != _STUDY:
            continue
        rows = store.read(record.ref)
        mine = [row["task_id"] for row in rows.select(["task_id"]).to_pylist() if _is_meant(row["task_id"], task)]
        if mine:
            import pyarrow.compute as pc

            own = rows.filter(pc.equal(rows["task_id"], mine[0]))
            commands = dict.fromkeys((row["method"], row["command"]) for row in own.to_pylist())
            again = Table.of(("found by", "shows it again"), list(commands), title="Commands")
            return OneTask([*tables(own), again], _code(store, record, mine[0]))
    command = f"bigcodeflow audit --ids {task} --store {store.location}"
    raise ArtifactError(f"{store.location}: no audit has found anything about {task!r}: run `{command}` first")


def _is_meant(task_id: str, text: str) -> bool:
    return text in (task_id, task_id.rpartition("/")[2])


def _code(store: Store, record: StudyRecord, task_id: str) -> str:
    for task in _tasks(store, record):
        if task["task_id"] == task_id:
            program = task["complete_prompt"] + task["canonical_solution"]
            return f"# program\n{_numbered(program)}\n\n# test\n{_numbered(task['test'])}"
    return ""


def _tasks(store: Store, record: StudyRecord) -> Iterable[Mapping[str, Any]]:
    ref = store.find("dataset", str(record.settings.get("dataset", "")))
    return store.read(ref).to_pylist() if ref else []


def _numbered(text: str) -> str:
    return "\n".join(f"{number:>4} {line}" for number, line in enumerate(text.splitlines(), start=1))
