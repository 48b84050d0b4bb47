"""The shipped tables of validated altered tests: they hold what the code of today would look up."""

import platform
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig, ExecutionConfig
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import CONTRADICTIONS, VERDICTS
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.execution.planning import Planner
from bigcodeflow.execution.stored_contradictions import StoredContradictions
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.integrity import altered_tests
from bigcodeflow.judge.integrity.contradictions import FORMS, Reference, validated_variants
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.store import open_store

from .conftest import row_of, rows_of

#: The table of the starter set is for an environment of this Python; with another, texts are validated on first use.
_same_python = pytest.mark.skipif(platform.python_version() != "3.11.7", reason="the table is for another Python")


def _executed(items: Sequence[WorkItem]) -> dict[str, dict]:
    assert not items, "benchmarks/validated_tests.py has to make the tables again"
    return {}


def _references(environment: InstalledEnvironment) -> dict[str, Reference]:
    config = DatasetConfig()
    tasks = load_tasks(config, resolve(config))
    measured = dict.fromkeys(("wall_seconds", "max_rss_mib", "cpu_seconds"), 1.0)
    rows = [row_of(VERDICTS, task_id=one, status="pass", **measured) for one in tasks["task_id"].to_pylist()]
    settings = ExecutionConfig(environment="starter")
    return Planner(tasks, rows_of(VERDICTS, *rows), config=settings, environment=environment).references()


@_same_python
def test_no_reference_solution_of_the_starter_set_is_executed(starter_environment: InstalledEnvironment) -> None:
    """Every text of every task is known: else each user validates the tests again."""
    references = _references(starter_environment)
    known = StoredContradictions(None, starter_environment.environment_sha, references.keys())
    wanted = [(one, number) for one in references.values() for number in range(2 * FORMS + 1)]
    variants = validated_variants(wanted, known, _executed)
    assert len(variants) == len(wanted) == 45 * 5
    assert all(one.seconds is not None for one in variants.values())


@_same_python
def test_a_text_that_another_version_made_as_well_stays_validated(
    starter_environment: InstalledEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of an older version in a store: only texts that differ from its texts are executed again."""
    references = list(_references(starter_environment).values())[:4]
    wanted = [(one, number) for one in references for number in range(2 * FORMS + 1)]
    shipped_rows = StoredContradictions(None, starter_environment.environment_sha).rows
    before, store = {one: dict(row) for one, row in shipped_rows.items()}, open_store(tmp_path)
    monkeypatch.setattr(altered_tests, "VERSION", altered_tests.VERSION + 1)
    newer = StoredContradictions(store, starter_environment.environment_sha)
    found = validated_variants(wanted, newer, _executed)
    assert all(one.source not in before and one.seconds is not None for one in found.values())
    again = StoredContradictions(store, starter_environment.environment_sha)
    assert {one.source for one in found.values() if one.altered.alterations} <= again.rows.keys()


@_same_python
def test_only_rows_of_the_wanted_tasks_are_read(starter_environment: InstalledEnvironment) -> None:
    found = StoredContradictions(None, starter_environment.environment_sha, {"Starter/1", "Own/1"}).rows.values()
    assert {row["task_id"] for row in found} == {"Starter/1"}


@pytest.mark.parametrize(
    "path", sorted(shipped("data/validated_tests").glob("*.parquet")), ids=lambda path: path.stem[:8]
)
def test_a_shipped_table_has_its_schema(path: Path) -> None:
    assert pq.read_schema(path).names == CONTRADICTIONS.names
    assert len(path.stem) == 64
