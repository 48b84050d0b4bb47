"""How a story is told, whatever shows it: its passages in order, each with what to say where it is missing."""

import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

from bigcodeflow.core.display_text import one_line
from bigcodeflow.core.tracebacks import exception_line
from bigcodeflow.results.inspection.stories import Story

_NOT_KEPT = "not in the store: an imported run has raw answers only if `bigcodeflow import` was given --samples"


class Passage(NamedTuple):
    """One part of a story."""

    title: str
    text: str
    form: Literal["python", "diff", "text", "sentence"]
    """How to show it; a sentence is ours, everything else is somebody's text."""
    first_line: int = 0
    """Number of the first line where lines are worth counting; 0: they are not."""


def reason(trace: str, end: str) -> str:
    """Why a sample failed, in one line: the exception, the first line of another text, or how the sandbox ended."""
    return one_line(exception_line(trace) or trace.strip().partition("\n")[0] or end)


def passages(story: Story) -> Iterator[Passage]:
    """The story in the order of the stages."""
    verdict = story.verdict
    yield Passage("verdict", verdict_line(story), "sentence")
    yield Passage("prompt", story.prompt, "text")
    yield from _answer(story)
    if story.program is None:
        yield Passage("executed program", "not in the store: run the sanitizing stage again", "sentence")
    else:
        yield Passage("executed program", story.program, "python", 1)
    yield from _failures(story)
    for name in ("stdout", "stderr"):
        if verdict[name]:
            cut = ", its end" if verdict[f"{name}_truncated"] else ""
            yield Passage(f"{name}{cut}", verdict[name], "text")
    yield Passage("tests, numbered as tracebacks count", story.test, "python", story.first_test_line)
    yield Passage(f"ground truth: {_ground_truth(story)}", story.ground_truth, "python")
    if story.ground_truth_status not in (None, "pass"):
        yield Passage("why the ground truth fails", story.ground_truth_trace, "text")
    yield Passage("execute this sample again", story.rerun_command, "text")


def verdict_line(story: Story) -> str:
    """Status, kind, counts, and what limits them, as one sentence."""
    verdict = story.verdict
    parts = [" ".join(filter(None, (verdict["status"], _kind(verdict["failure_kind"]))))]
    if verdict["tests_run"] is None:
        parts.append("not told which tests failed")
    else:
        failing = len(story.failing_tests)
        parts.append(f"{failing:,} of {verdict['tests_expected']:,} tests failed or never ended")
    if measured(verdict["wall_seconds"]):
        parts.append(f"{verdict['wall_seconds']:.1f} s, {verdict['max_rss_mib']:.0f} MiB at most, {verdict['exit']}")
    if verdict["flaky"] is not None:
        parts.append(f"{'flaky' if verdict['flaky'] else 'not flaky'} in {verdict['attempts']} executions")
    if verdict.get("integrity"):
        parts.append(f"check of the pass: {verdict['integrity']}")
    parts += [flag.replace("_", " ") for flag in story.flags]
    if story.quarantined:
        parts.append("the task is in quarantine, as its own solution does not always pass")
    parts.append(f"executed by {verdict['backend']}" if verdict["backend"] != "imported" else "imported")
    return "; ".join(parts)


def measured(value: float | None) -> bool:
    """Whether there is a value: null where a run was imported, NaN in imports of an earlier version."""
    return value is not None and not math.isnan(value)


def _kind(kind: str) -> str:
    return f"({kind.replace('_', ' ')})" if kind else ""


def _answer(story: Story) -> Iterator[Passage]:
    if story.raw_answer is None:
        yield Passage("raw answer", _NOT_KEPT, "sentence")
        return
    ended = {"length": " (cut off by the token limit)"}.get(story.finish_reason or "", "")
    yield Passage(f"raw answer{ended}", story.raw_answer, "text")
    diff = story.sanitizer_diff
    if diff:
        yield Passage(f"answer → solution ({story.sanitizer})", diff, "diff")
    elif diff is not None:
        yield Passage("answer → solution", "the solution is the answer, unchanged", "sentence")


def _failures(story: Story) -> Iterator[Passage]:
    verdict = story.verdict
    if verdict["module_trace"]:
        yield Passage("the module itself failed", verdict["module_trace"], "text")
    unseen = [test["name"] for test in story.failing_tests if not test["trace"]]
    for test in story.failing_tests:
        if test["trace"]:
            yield Passage(f"{test['name']}: {test['outcome']}", test["trace"], "text")
    if unseen:
        yield Passage("tests without an outcome", ", ".join(unseen), "text")
    if verdict["tampering"]:
        yield Passage("what no honest program does", "\n".join(verdict["tampering"]), "text")
    if story.findings:
        lines = [f"line {one['line']}: {one['rule']}: {one['detail']}" for one in story.findings]
        yield Passage("safety findings", "\n".join(lines), "text")


def _ground_truth(story: Story) -> str:
    return story.ground_truth_status or "not executed"
