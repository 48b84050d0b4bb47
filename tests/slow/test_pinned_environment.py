"""BigCodeBench's own tasks in the pinned environment: minutes each, so they run behind the marker `slow`."""

import gzip
import json
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


def _recorded(reference_data: Path) -> list[dict]:
    file = next((reference_data / "samples" / "qwen2.5-coder-7b-instruct").glob("*calibrated.jsonl.gz"))
    with gzip.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def _written(*rows: dict) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


_FOREIGN = {"task_id": "HumanEval/0", "solution": ""}
#: How each damage makes the file's text from 1,140 rows, and what the message names.
DAMAGE = {
    "truncated": (lambda rows: _written(*rows)[:-200], ["line 1140"]),
    "duplicated": (lambda rows: _written(*rows, rows[6]), ["line 1141", "line 7", "BigCodeBench/6"]),
    "mistyped": (
        lambda rows: _written(*rows[:6], rows[6] | {"solution": 7}, *rows[7:]),
        ["line 7", "BigCodeBench/6", "solution"],
    ),
    "empty": (lambda _rows: "", ["samples.jsonl", "empty"]),
    "foreign": (lambda rows: _written(*rows[:6], _FOREIGN, *rows[6:]), ["line 7", "HumanEval/0"]),
    "incomplete": (lambda rows: _written(*rows[:-3]), [f"BigCodeBench/{number}" for number in (1137, 1138, 1139)]),
}


@pytest.mark.real_data
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_sample_file_is_one_clear_error(
    bigcodeflow: Command, tmp_path: Path, reference_data: Path, bigcodebench_environment: object, damage: str
) -> None:
    """Whatever is wrong with 1,140 real samples: line and task are named, nothing is executed, nothing is written."""
    written, named = DAMAGE[damage]
    (tmp_path / "samples.jsonl").write_text(written(_recorded(reference_data)))
    dataset = reference_data / "bigcodebench-v0.1.4.parquet"
    done = bigcodeflow("evaluate", "--samples", "samples.jsonl", "--dataset", dataset, "--out", "out", check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert [part for part in named if part not in done.stderr] == []
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("results/store/execution/*"))
