"""Tables of recorded runs as one database, with a view that joins everything about a sample."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.results import models
from bigcodeflow.results.runs import RecordedRun

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Each table's artifact and schema.
_TABLES = {
    "tasks": ("dataset", TASKS),
    "samples": ("generation", SAMPLES),
    "solutions": ("sanitizing", SOLUTIONS),
    "ground_truth": ("ground_truth", VERDICTS),
    "verdicts": ("execution", VERDICTS),
}


class RunTables(NamedTuple):
    """Parquet files of a run by table: tasks, samples, solutions, ground_truth, verdicts; some may be missing."""

    files: Mapping[str, Path]
    split: str | None = None


def tables_of(run: RecordedRun) -> RunTables:
    """Return the tables of a run that the store has; raise ArtifactError if the verdicts are missing."""
    found = {table: run.path_if_kept(artifact) for table, (artifact, _) in _TABLES.items()}
    found["verdicts"] = run.path("execution")
    return RunTables({table: path for table, path in found.items() if path}, run.split)


@contextmanager
def open_tables(runs: Sequence[RunTables]) -> Iterator["DuckDBPyConnection"]:
    """Open a database with a view ``source_TABLE`` per table over all runs, and the view ``samples`` that joins them.

    Each view ``source_TABLE`` has the columns of the table's schema and ``run_index``, the index in ``runs``. Tasks and
    ground truths that several runs share occur once, with the index of the first of these runs. A run without a table
    has no rows in the table's view. The table ``runs`` has each run's split, and ``dataset_run`` and ``truth_run``: the
    values of ``run_index`` with which the run's tasks and ground truths occur.
    """
    firsts = {table: _first_with(runs, table) for table in ("tasks", "ground_truth")}
    files = {
        f"{table}_{index}": run.files[table]
        for table in _TABLES
        for index, run in enumerate(runs)
        if table in run.files and firsts.get(table, {}).get(index, index) == index
    }
    with models.sources(**files) as connection:
        connection.execute(
            "CREATE TEMP TABLE runs (run_index INTEGER, split VARCHAR, dataset_run INTEGER, truth_run INTEGER)"
        )
        for index, run in enumerate(runs):
            row = [index, run.split, *(first.get(index) for first in firsts.values())]
            connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", row)
        for table, (_, schema) in _TABLES.items():
            # The empty table provides all current columns, even if earlier versions wrote artifacts without some.
            connection.register(f"empty_{table}", schema.empty_table())
            sides = [f'SELECT NULL::INTEGER AS run_index, * FROM "empty_{table}"']  # noqa: S608 - our own names
            places = [index for index in range(len(runs)) if f"{table}_{index}" in files]
            sides += [f'SELECT {place} AS run_index, * FROM "source_{table}_{place}"' for place in places]  # noqa: S608
            connection.execute(f'CREATE TEMP VIEW "source_{table}" AS {" UNION ALL BY NAME ".join(sides)}')
        connection.execute(f"CREATE TEMP VIEW samples AS {models.sql_of('samples')}")
        yield connection


def _first_with(runs: Sequence[RunTables], table: str) -> dict[int, int]:
    """Map the index of each run that has ``table`` to the index of the first run with the same file of this table."""
    first: dict[Path, int] = {}
    return {index: first.setdefault(run.files[table], index) for index, run in enumerate(runs) if table in run.files}
