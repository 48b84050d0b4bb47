"""One sample in detail: what was asked, answered, taken out of the answer, executed and found; and its sections."""

import difflib
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.display_text import one_line
from bigcodeflow.core.tracebacks import exception_line
from bigcodeflow.results.exports import FAILING_OUTCOMES
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import RecordedRun

_FLAGS = ("blocked", "omitted_setup", "placeholder", "truncated")
_MOST_COMPARED_LINES = 5_000
#: Provider of samples whose answers nobody kept; the programs stand in for them.
_IMPORTED = "imported"
_VERDICT_COLUMNS = (
    "status", "failure_kind", "tests", "module_trace", "tests_expected", "tests_run", "wall_seconds", "cpu_seconds",
    "max_rss_mib", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "attempts", "flaky", "tampering",
    "integrity", "backend", "environment_sha", "exit",
)  # fmt: skip
_NOT_KEPT = "not in the store: an imported run has raw answers only if `bigcodeflow import` was given --samples"


@dataclass(frozen=True, slots=True)
class SampleDetail:
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
        return [test for test in self.verdict["tests"] or () if test["outcome"] in FAILING_OUTCOMES]

    @property
    def title(self) -> str:
        """Task, sample and variant."""
        return f"{self.task_id}, sample {self.sample_index}, {self.variant}"

    @property
    def first_test_line(self) -> int:
        """Number that a traceback gives to the first line of the tests."""
        return (self.program or "").count("\n") + 2


def detail_of(row: Row, run: RecordedRun) -> SampleDetail:
    """The detail of a row of ``sql/inspection_details.sql``."""
    solution, imported = row["solution"], row["provider"] == _IMPORTED
    program = None
    if solution is not None:
        program = executed_program(
            code_prompt=row["code_prompt"], solution=solution, variant=row["variant"], sanitizer=row["sanitizer"]
        )
    failing = row["ground_truth_failing"] or []
    traces = [row["ground_truth_module_trace"] or "", *(test["trace"] for test in failing)]
    return SampleDetail(
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
        rerun_command=shlex.join(
            [
                *("bigcodeflow", "inspect", run.record, row["task_id"], "--sample", str(row["sample_index"])),
                *("--variant", row["variant"], "--store", run.store.location, "--rerun"),
            ]
        ),
    )


class DetailSection(NamedTuple):
    """One part of a sample's detail."""

    title: str
    text: str
    form: Literal["python", "diff", "text", "sentence"]
    """How to show it; a sentence is ours, everything else is somebody's text."""
    first_line: int = 0
    """Number of the first line where lines are worth counting; 0: they are not."""


def reason(trace: str, end: str) -> str:
    """Why a sample failed, in one line: the exception, the first line of another text, or how the sandbox ended."""
    return one_line(exception_line(trace) or trace.strip().partition("\n")[0] or end)


def sections(detail: SampleDetail) -> Iterator[DetailSection]:
    """The sections in the order of the stages, each with a sentence where the store lacks it."""
    yield DetailSection("verdict", _verdict_line(detail), "sentence")
    yield DetailSection("prompt", detail.prompt, "text")
    if detail.raw_answer is None:
        yield DetailSection("raw answer", _NOT_KEPT, "sentence")
    else:
        ended = " (cut off by the token limit)" if detail.finish_reason == "length" else ""
        yield DetailSection(f"raw answer{ended}", detail.raw_answer, "text")
        diff = detail.sanitizer_diff
        if diff:
            yield DetailSection(f"answer → solution ({detail.sanitizer})", diff, "diff")
        elif diff is not None:
            yield DetailSection("answer → solution", "the solution is the answer, unchanged", "sentence")
    if detail.program is None:
        yield DetailSection("executed program", "not in the store: run the sanitizing stage again", "sentence")
    else:
        yield DetailSection("executed program", detail.program, "python", 1)
    yield from _failures(detail)
    yield DetailSection("tests, numbered as tracebacks count", detail.test, "python", detail.first_test_line)
    yield DetailSection(f"ground truth: {detail.ground_truth_status or 'not executed'}", detail.ground_truth, "python")
    if detail.ground_truth_status not in (None, "pass"):
        yield DetailSection("why the ground truth fails", detail.ground_truth_trace, "text")
    yield DetailSection("execute this sample again", detail.rerun_command, "text")


def _verdict_line(detail: SampleDetail) -> str:
    """Status, kind, counts, and what limits them, as one sentence."""
    verdict = detail.verdict
    kind = verdict["failure_kind"].replace("_", " ")
    parts = [f"{verdict['status']} ({kind})" if kind else verdict["status"]]
    if verdict["tests_run"] is None:
        parts.append("not told which tests failed")
    else:
        failing = len(detail.failing_tests)
        parts.append(f"{failing:,} of {verdict['tests_expected']:,} tests failed or never ended")
    if measured(verdict["wall_seconds"]):
        parts.append(f"{verdict['wall_seconds']:.1f} s, {verdict['max_rss_mib']:.0f} MiB at most, {verdict['exit']}")
    if verdict["flaky"] is not None:
        parts.append(f"{'flaky' if verdict['flaky'] else 'not flaky'} in {verdict['attempts']} executions")
    if verdict.get("integrity"):
        parts.append(f"check of the pass: {verdict['integrity']}")
    parts += [flag.replace("_", " ") for flag in detail.flags]
    if detail.quarantined:
        parts.append("the task is in quarantine, as its own solution does not always pass")
    parts.append(f"executed by {verdict['backend']}" if verdict["backend"] != "imported" else "imported")
    return "; ".join(parts)


def measured(value: float | None) -> bool:
    """Whether there is a value: null where a run was imported, NaN in imports of an earlier version."""
    return value is not None and not math.isnan(value)


def _failures(detail: SampleDetail) -> Iterator[DetailSection]:
    verdict = detail.verdict
    if verdict["module_trace"]:
        yield DetailSection("the module itself failed", verdict["module_trace"], "text")
    unseen = [test["name"] for test in detail.failing_tests if not test["trace"]]
    for test in detail.failing_tests:
        if test["trace"]:
            yield DetailSection(f"{test['name']}: {test['outcome']}", test["trace"], "text")
    if unseen:
        yield DetailSection("tests without an outcome", ", ".join(unseen), "text")
    if verdict["tampering"]:
        yield DetailSection("what no honest program does", "\n".join(verdict["tampering"]), "text")
    if detail.findings:
        lines = [f"line {one['line']}: {one['rule']}: {one['detail']}" for one in detail.findings]
        yield DetailSection("safety findings", "\n".join(lines), "text")
    for name in ("stdout", "stderr"):
        if verdict[name]:
            cut = ", its end" if verdict[f"{name}_truncated"] else ""
            yield DetailSection(f"{name}{cut}", verdict[name], "text")
