"""The sanitizing stage: SAMPLES and TASKS in, SOLUTIONS out."""

import resource
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import SanitizingConfig
from bigcodeflow.core.errors import SamplesError
from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, TASKS
from bigcodeflow.core.untrusted_text import MOST_PROGRAM_CHARACTERS
from bigcodeflow.sanitizing.samples import sanitize_samples

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


def sanitized(*samples: dict[str, Any], **config: Any) -> list[dict[str, Any]]:
    return sanitize_samples(sample_table(*samples), task_table(), SanitizingConfig(**config)).to_pylist()


def test_rows_follow_the_samples_in_the_solutions_schema(tmp_path: Any) -> None:
    """One row a sample, in the samples' order, as a table that Parquet holds; progress counts up to their number."""
    samples, calls = sample_table({"sample_index": 7}, {"raw_text": ""}, {"raw_text": "x = ("}), []
    solutions = sanitize_samples(samples, task_table(), SanitizingConfig(), progress=lambda *call: calls.append(call))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert solutions.schema.equals(SOLUTIONS)
    assert solutions["sample_index"].to_pylist() == [7, 1, 2]
    assert solutions["syntax_ok"].to_pylist() == [True, True, False]
    pq.write_table(solutions, tmp_path / "solutions.parquet")
    assert pq.read_table(tmp_path / "solutions.parquet").to_pylist() == solutions.to_pylist()


def test_everything_about_a_solution_is_marked() -> None:
    """Findings, omitted setup and truncation are those of one solution."""
    (row,) = sanitized({"finish_reason": "length"}, safety_policy="block")
    assert row["solution"] == _RAW.removeprefix("Sure:\n").strip()
    assert row["findings"] == [{"rule": "deletion", "line": 3, "detail": "os.remove"}]
    assert (row["sanitizer"], row["blocked"], row["omitted_setup"], row["truncated"]) == ("parity", True, True, True)
    assert (row["placeholder"], row["syntax_error"]) == (False, "")


def test_mode_none_takes_what_was_given() -> None:
    """The stated solution is executed as it is, and the raw text where none is stated."""
    rows = sanitized({"given_solution": "x = 1\n"}, {"given_solution": None}, {"given_solution": ""}, mode="none")
    assert [row["solution"] for row in rows] == ["x = 1\n", _RAW, ""]


def test_foreign_sample_is_an_error_that_names_it() -> None:
    """A sample of a task that is not there stops the stage with one line."""
    with pytest.raises(SamplesError, match=r"sample 2 answers 'T/9'.*select the task"):
        sanitized({}, {"task_id": "T/9"})


@pytest.mark.parametrize("mode", ["none", "parity", "robust"])
def test_an_answer_that_is_too_large_is_not_read(mode: Any) -> None:
    """It stays as it is and has a syntax error that says so."""
    text = "a\n" * 1_500_000
    (row,) = sanitized({"raw_text": text}, mode=mode, safety_policy="block")
    assert row["solution"] == text
    assert row["syntax_error"].endswith("3,000,000 characters; the limit of a program is 1,000,000 characters")
    assert [finding["rule"] for finding in row["findings"]] == ["unreadable"]
    assert (row["syntax_ok"], row["blocked"]) == (False, True)


@pytest.mark.slow
def test_a_large_answer_is_read_in_another_process() -> None:
    """It gives what a small one gives, and takes no memory of this process."""
    program = "def task_func(x):\n    os.remove(x)\n    return np\n"
    small, large = ("Here it is.\n" * count + f"import os\n{program}" for count in (1, 20_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = sanitized({"raw_text": small}, {"raw_text": large}, safety_policy="block")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024
    assert rows[0]["solution"] == f"import os\n{program}".strip()
    assert rows[1] == rows[0] | {"sample_index": 1}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["none", "robust"])
def test_an_answer_that_takes_too_much_is_given_up(mode: Any) -> None:
    """One of the most characters, of the kind that takes the parser most memory, ends the reading and not the run."""
    text = "a\n" * (MOST_PROGRAM_CHARACTERS // 2)
    rows = sanitized({"raw_text": text}, {"raw_text": _RAW}, mode=mode)
    given_up = rows[0]["syntax_error"].startswith("too complex to parse: took more than 20 s of CPU time or 1,024 MiB")
    assert given_up or (mode == "none" and rows[0]["syntax_ok"])  # a fast machine only parses it, within the limits
    assert rows[0]["solution"] == text
    assert mode == "none" or rows[1]["syntax_ok"]
