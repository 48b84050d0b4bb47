"""The tables of several runs as one database: each stage's rows together, told apart by ``run_index``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, TASKS, VERDICTS
from bigcodeflow.report.selection import ReportedRun
from bigcodeflow.results import models
from bigcodeflow.results.models import Row

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SQL = Path(__file__).with_name("sql")
#: View → artifact of a run, and its schema.
_VIEWS = {
    "tasks": ("dataset", TASKS),
    "samples": ("generation", SAMPLES),
    "solutions": ("sanitizing", SOLUTIONS),
    "ground_truths": ("ground_truth", VERDICTS),
    "verdicts": ("execution", VERDICTS),
}


@contextmanager
def opened(runs: Sequence[ReportedRun]) -> Iterator["DuckDBPyConnection"]:
    """A database with views ``tasks``, ``samples``, ``solutions``, ``ground_truths`` and ``verdicts`` over all runs.

    Each has the columns of its schema and ``run_index``, the run's place in ``runs``; tasks and ground truths that runs
    share stand there once, under the first of these. What a run never had, such as the answers of imported results,
    has no rows. Table ``runs`` has each run's split, the pair of variant and sanitizer that stands for it, and
    ``dataset_run`` and ``truth_run``: under which run its tasks and ground truths stand. Table ``judged_tasks`` has
    every task, in the benchmark's order.

    Raises:
        ArtifactError: an artifact that a run recorded is gone or cannot be read.
    """
    paths = {
        f"{view}_{index}": run.recorded.path(artifact)
        for view, (artifact, _) in _VIEWS.items()
        for index, run in enumerate(runs)
        if view == "verdicts" or artifact in run.recorded.keys
    }
    tasks_at, truths_at = _first_with(paths, "tasks", runs), _first_with(paths, "ground_truths", runs)
    for view, places in (("tasks", tasks_at), ("ground_truths", truths_at)):
        for index, first in enumerate(places):
            if first != index:
                paths.pop(f"{view}_{index}", None)
    with models.sources(**paths) as connection:
        connection.execute(
            "CREATE TEMP TABLE runs (run_index INTEGER, split VARCHAR, variant VARCHAR, sanitizer VARCHAR, "
            "dataset_run INTEGER, truth_run INTEGER)"
        )
        connection.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
            [
                [index, run.recorded.split, *run.kinds[0], tasks_at[index], truths_at[index]]
                for index, run in enumerate(runs)
            ],
        )
        for view, (_, schema) in _VIEWS.items():
            _create_view(connection, view, schema, [name for name in paths if name.rpartition("_")[0] == view])
        connection.execute(f"CREATE TEMP TABLE judged_tasks AS {sql_of('judged_tasks')}")
        yield connection


def rows_of(connection: "DuckDBPyConnection", model: str, parameters: Mapping[str, object] | None = None) -> list[Row]:
    """Rows of one of the report's SQL models."""
    cursor = connection.execute(sql_of(model), dict(parameters or {}))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def sql_of(model: str) -> str:
    """The SELECT of a model such as 'solve_rates'."""
    return (_SQL / f"{model}.sql").read_text()


def _first_with(paths: Mapping[str, Path], view: str, runs: Sequence[ReportedRun]) -> list[int | None]:
    """For each run the first one that has the same artifact; None where it has none."""
    found: dict[Path, int] = {}
    own = [paths.get(f"{view}_{index}") for index in range(len(runs))]
    return [None if path is None else found.setdefault(path, index) for index, path in enumerate(own)]


def _create_view(connection: "DuckDBPyConnection", view: str, schema: pa.Schema, sources: Sequence[str]) -> None:
    # The empty side keeps today's columns there where an artifact was written by a version that lacked one.
    connection.register(f"empty_{view}", schema.empty_table())
    sides = [f'SELECT NULL::INTEGER AS run_index, * FROM "empty_{view}"']  # noqa: S608 - our own names
    sides += [f'SELECT {name.rpartition("_")[2]} AS run_index, * FROM "source_{name}"' for name in sources]  # noqa: S608 - our own names
    connection.execute(f'CREATE TEMP VIEW "{view}" AS {" UNION ALL BY NAME ".join(sides)}')
