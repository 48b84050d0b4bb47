"""The sanitizing stage: SAMPLES and TASKS in, SOLUTIONS out."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import SanitizingConfig
from bigcodeflow.errors import SamplesError
from bigcodeflow.sanitizing import sanitize_samples
from bigcodeflow.schemas import SAMPLES, SOLUTIONS, TASKS

_RAW = "Sure:\nimport os\ndef task_func(x):\n    os.remove(x)\n    return np\n"


def task_table() -> pa.Table:
    task: dict[str, Any] = {field.name: "" if field.type == pa.string() else None for field in TASKS}
    task |= {"task_id": "T/0", "position": 0, "code_prompt": "import numpy as np\ndef task_func(x):"}
    task |= {"entry_point": "task_func", "libs": [], "domains": [], "hard": False, "expected_tests": []}
    return pa.Table.from_pylist([task], schema=TASKS)


def sample_table(*samples: dict[str, Any]) -> pa.Table:
    empty: dict[str, Any] = {field.name: None for field in SAMPLES}
    common = {"task_id": "T/0", "raw_text": _RAW, "provider": "replay", "attempts": 1}
    rows = [empty | common | {"sample_index": number} | sample for number, sample in enumerate(samples)]
    return pa.Table.from_pylist(rows, schema=SAMPLES)


def test_rows_follow_the_samples_in_the_solutions_schema(tmp_path: Any) -> None:
    """One row a sample, in the samples' order, as a table that Parquet holds."""
    samples = sample_table({"sample_index": 7}, {"raw_text": ""}, {"raw_text": "x = ("})
    solutions = sanitize_samples(samples, task_table(), SanitizingConfig())
    assert solutions.schema.equals(SOLUTIONS)
    assert solutions["sample_index"].to_pylist() == [7, 1, 2]
    assert solutions["syntax_ok"].to_pylist() == [True, True, False]
    pq.write_table(solutions, tmp_path / "solutions.parquet")
    assert pq.read_table(tmp_path / "solutions.parquet").to_pylist() == solutions.to_pylist()


def test_everything_about_a_solution_is_marked() -> None:
    """Findings, omitted setup and truncation are told of one and the same solution."""
    (row,) = sanitize_samples(
        sample_table({"finish_reason": "length"}), task_table(), SanitizingConfig(safety_policy="block")
    ).to_pylist()
    assert row["solution"] == _RAW.removeprefix("Sure:\n").strip()
    assert row["findings"] == [{"rule": "deletion", "line": 3, "detail": "os.remove"}]
    assert (row["sanitizer"], row["blocked"], row["omitted_setup"], row["truncated"]) == ("parity", True, True, True)
    assert (row["placeholder"], row["syntax_error"]) == (False, "")


def test_mode_none_takes_what_was_given() -> None:
    """The stated solution is executed as it is, and the raw text where none is stated."""
    samples = sample_table({"given_solution": "x = 1\n"}, {"given_solution": None}, {"given_solution": ""})
    solutions = sanitize_samples(samples, task_table(), SanitizingConfig(mode="none"))
    assert solutions["solution"].to_pylist() == ["x = 1\n", _RAW, ""]


def test_progress_is_told_after_each_sample() -> None:
    """Progress counts up to the number of samples."""
    told: list[tuple[int, int]] = []
    sanitize_samples(
        sample_table({}, {}, {}),
        task_table(),
        SanitizingConfig(),
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_no_samples_give_no_rows() -> None:
    """An empty table stays one."""
    assert sanitize_samples(SAMPLES.empty_table(), task_table(), SanitizingConfig()).equals(SOLUTIONS.empty_table())


def test_foreign_sample_is_an_error_that_names_it() -> None:
    """A sample of a task that is not there stops the stage with one line."""
    with pytest.raises(SamplesError, match=r"sample 2 answers 'T/9'.*select the task"):
        sanitize_samples(sample_table({}, {"task_id": "T/9"}), task_table(), SanitizingConfig())
