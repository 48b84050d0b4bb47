"""The shipped tables of validated altered tests: they hold what the code of today would look up."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig, ExecutionConfig
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import CONTRADICTIONS, VERDICTS
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.execution.evaluation import GROUND_TRUTH_COLUMNS, plan_references
from bigcodeflow.execution.stored_contradictions import StoredContradictions
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.integrity.contradictions import FORMS, validated_variants
from bigcodeflow.judge.items import WorkItem


def _executed(items: Sequence[WorkItem]) -> dict[str, dict]:
    assert not items, "benchmarks/validated_tests.py has to make the tables again"
    return {}


def test_no_reference_solution_of_the_starter_set_is_executed(starter_environment: InstalledEnvironment) -> None:
    """Every text of every task is known: else each user validates the tests again."""
    config = DatasetConfig()
    tasks = load_tasks(config, resolve(config))
    row = {
        "status": "pass",
        "wall_seconds": 1.0,
        "max_rss_mib": 1.0,
        "cpu_seconds": 1.0,
        "module_trace": "",
        "tests": [],
    }
    schema = pa.schema([VERDICTS.field(name) for name in GROUND_TRUTH_COLUMNS])
    truths = pa.Table.from_pylist([row | {"task_id": one} for one in tasks["task_id"].to_pylist()], schema)
    settings = ExecutionConfig(environment="starter")
    references = plan_references(tasks, truths, config=settings, environment=starter_environment)
    known = StoredContradictions(None, starter_environment.environment_sha, references.keys())
    wanted = [(one, number) for one in references.values() for number in range(2 * FORMS + 1)]
    variants = validated_variants(wanted, known, _executed)
    assert len(variants) == len(wanted) == 45 * 5
    assert all(one.seconds is not None for one in variants.values())


def test_only_rows_of_the_wanted_tasks_are_read(starter_environment: InstalledEnvironment) -> None:
    found = StoredContradictions(None, starter_environment.environment_sha, {"Starter/1", "Own/1"}).rows.values()
    assert {row["task_id"] for row in found} == {"Starter/1"}


@pytest.mark.parametrize(
    "path", sorted(shipped("data/validated_tests").glob("*.parquet")), ids=lambda path: path.stem[:8]
)
def test_a_shipped_table_has_its_schema(path: Path) -> None:
    assert pq.read_schema(path).names == CONTRADICTIONS.names
    assert len(path.stem) == 64
