"""One sample's whole way: what was asked, answered, taken out of the answer, executed, and found."""

import difflib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bigcodeflow.core.calibration import executed_program
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import RecordedRun

_FAILING = ("fail", "error", "missing")
_FLAGS = ("blocked", "omitted_setup", "placeholder", "truncated")
_MOST_COMPARED_LINES = 5_000
#: Provider of samples whose answers nobody kept; the programs stand in for them.
_IMPORTED = "imported"
_VERDICT_COLUMNS = (
    "status",
    "failure_kind",
    "tests",
    "module_trace",
    "tests_expected",
    "tests_run",
    "wall_seconds",
    "cpu_seconds",
    "max_rss_mib",
    "stdout",
    "stderr",
    "stdout_truncated",
    "stderr_truncated",
    "attempts",
    "flaky",
    "tampering",
    "integrity",
    "backend",
    "environment_sha",
    "exit",
)


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that the store holds of one sample of one variant; a text is None where the store lacks it."""

    task_id: str
    sample_index: int
    variant: str
    sanitizer: str
    verdict: Mapping[str, Any]
    """The row of the verdicts table."""
    prompt: str
    """The task in the words of the run's split."""
    model: str | None
    """The model as the provider named it."""
    finish_reason: str | None
    raw_answer: str | None
    solution: str | None
    program: str | None
    """The text that was executed."""
    flags: tuple[str, ...]
    """What is noticeable about the solution."""
    findings: tuple[Mapping[str, Any], ...]
    test: str
    """The tests; in tracebacks their lines follow those of the program."""
    ground_truth: str
    """The task's own program."""
    ground_truth_status: str | None
    """None: it was not executed, or its verdict is gone."""
    ground_truth_trace: str
    quarantined: bool
    """The task's own solution was known not to pass always."""
    rerun_command: str
    """What executes this very sample again, for a shell."""

    @property
    def sanitizer_diff(self) -> str | None:
        """What the sanitizer took away and changed, as a unified diff; empty where it changed nothing.

        Of texts with thousands of lines the first ones are compared: time grows with the square of those that recur.
        """
        if self.raw_answer is None or self.solution is None:
            return None
        lines = [text.splitlines() for text in (self.raw_answer, self.solution)]
        compared = [text[:_MOST_COMPARED_LINES] for text in lines]
        found = [*difflib.unified_diff(compared[0], compared[1], "answer", "solution", lineterm="")]
        if compared != lines:
            found.append(f"[compared are the first {_MOST_COMPARED_LINES:,} lines]")
        return "\n".join(found)

    @property
    def failing_tests(self) -> list[Mapping[str, Any]]:
        """Tests that failed or never ended, with their traces."""
        return [test for test in self.verdict["tests"] or () if test["outcome"] in _FAILING]

    @property
    def title(self) -> str:
        """Whose story it is."""
        return f"{self.task_id}, sample {self.sample_index}, {self.variant}"

    @property
    def first_test_line(self) -> int:
        """Number that a traceback gives to the first line of the tests."""
        return (self.program or "").count("\n") + 2


def story_of(row: Row, run: RecordedRun) -> Story:
    """The story of a row of ``sql/inspection_stories.sql``."""
    solution, imported = row["solution"], row["provider"] == _IMPORTED
    program = None
    if solution is not None:
        program = executed_program(
            code_prompt=row["code_prompt"], solution=solution, variant=row["variant"], sanitizer=row["sanitizer"]
        )
    failing = row["ground_truth_failing"] or []
    traces = [row["ground_truth_module_trace"] or "", *(test["trace"] for test in failing)]
    return Story(
        task_id=row["task_id"],
        sample_index=row["sample_index"],
        variant=row["variant"],
        sanitizer=row["sanitizer"],
        verdict={name: row.get(name) for name in _VERDICT_COLUMNS},
        prompt=row["instruct_prompt"] if run.split == "instruct" else row["complete_prompt"],
        model=row["served_model"],
        finish_reason=row["finish_reason"],
        raw_answer=None if imported else row["raw_text"],
        solution=solution,
        program=program,
        flags=tuple(flag for flag in _FLAGS if row[flag]),
        findings=tuple(row["findings"] or ()),
        test=row["test"],
        ground_truth=row["complete_prompt"] + row["canonical_solution"],
        ground_truth_status=row["ground_truth_status"],
        ground_truth_trace=next((trace for trace in traces if trace), row["ground_truth_exit"] or ""),
        quarantined=row["task_id"] in run.quarantined,
        rerun_command=_rerun_command(row, run),
    )


def _rerun_command(row: Row, run: RecordedRun) -> str:
    words = ["bigcodeflow", "inspect", run.record, row["task_id"], "--sample", str(row["sample_index"])]
    return shlex.join([*words, "--variant", row["variant"], "--store", run.store.location, "--rerun"])
