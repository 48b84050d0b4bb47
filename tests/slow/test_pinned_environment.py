"""BigCodeBench's own tasks in the pinned environment: minutes each, so they run behind the marker `slow`."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.execution.environment_check import failing_imports
from bigcodeflow.judge.environments import InstalledEnvironment, load_definition
from tests.conftest import Command

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]


def test_every_library_imports_inside_the_sandbox(bigcodebench_environment: InstalledEnvironment) -> None:
    """All modules that the environment promises, TensorFlow included, load without network and on a read-only system."""
    modules = load_definition("bigcodebench").imports
    assert len(modules) > 60
    assert failing_imports(bigcodebench_environment, modules) == {}


@pytest.mark.long
@pytest.mark.real_data
def test_an_empty_body_passes_nothing_on_hard(
    bigcodeflow: Command, tmp_path: Path, reference_data: Path, bigcodebench_environment: object
) -> None:
    """The null control: no task of BigCodeBench-Hard is solved by doing nothing."""
    dataset = reference_data / "bigcodebench-v0.1.4.parquet"
    bigcodeflow(
        *("evaluate", "--samples", "stub", "--dataset", dataset, "--subset", "hard", "--environment", "bigcodebench"),
        *("--out", "out"),
    )
    rows = pq.read_table(tmp_path / "out" / "verdicts.parquet").to_pylist()
    assert len(rows) == 148
    assert [row["task_id"] for row in rows if row["status"] == "pass"] == []
    assert {row["status"] for row in rows} <= {"fail", "timeout", "crash", "out_of_memory"}
