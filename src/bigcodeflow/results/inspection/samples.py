"""A recorded run, opened for inspection: samples that match filters, and details of each sample."""

import difflib
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.display_text import one_line
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.results import models
from bigcodeflow.results.exports import FAILING_OUTCOMES, failure_details
from bigcodeflow.results.formatting import cause_line
from bigcodeflow.results.models import Row, rows_from
from bigcodeflow.results.run_tables import open_tables, tables_of
from bigcodeflow.results.runs import RecordedRun

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Tables that a run may lack, for example an imported run, and their names for people.
_OPTIONAL = {"solutions": "programs", "samples": "raw answers", "ground_truth": "verdicts of ground truths"}
_VALUES_SHOWN = 40
_IDENTITY = ("task_id", "sample_index", "variant", "sanitizer")
_FLAGS = ("blocked", "omitted_setup", "placeholder", "truncated", "shortened")
_MOST_COMPARED_LINES = 5_000
_VERDICT_COLUMNS = (
    "status", "failure_kind", "tests", "module_trace", "tests_expected", "tests_run", "wall_seconds", "cpu_seconds",
    "max_rss_mib", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "attempts", "flaky", "tampering",
    "integrity", "backend", "environment_sha", "exit",
)  # fmt: skip
#: Measurements of the sandbox, with the unit in the name.
_MEASURED = ("wall_seconds", "cpu_seconds", "max_rss_mib")
_NOT_KEPT = "not in the store: an imported run has raw answers only if `bigcodeflow import` was given --samples"


class Filters(NamedTuple):
    """Filters of samples; an empty filter or None matches every sample; but empty ``statuses`` skip passed samples."""

    statuses: tuple[str, ...] = ()
    """Empty matches all samples that did not pass; 'all' also matches passed samples."""
    kinds: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    text: str = ""
    """Text to search in the solution, names of tests, tracebacks and output; case is ignored."""
    task: str = ""
    """A task's id or number."""
    task_ids: frozenset[str] | None = None
    """Ids of the tasks to match, for example all tasks of a difficulty; None matches all tasks."""
    sample_index: int | None = None


@dataclass(frozen=True, slots=True)
class SampleDetail:
    """All data that the store has about a sample of one variant; a text is None if the store lacks it."""

    task_id: str
    sample_index: int
    variant: str
    sanitizer: str
    verdict: Mapping[str, Any]
    """The row of the verdicts table."""
    prompt: str
    """Prompt of the task in the run's split."""
    model: str | None
    """Model name as reported by the provider."""
    finish_reason: str | None
    raw_answer: str | None
    solution: str | None
    program: str | None
    """The text that was executed."""
    flags: tuple[str, ...]
    """Names of the sanitizer's flags that are set for the solution."""
    findings: tuple[Mapping[str, Any], ...]
    test: str
    """Code of the tests; in tracebacks its lines follow those of the program."""
    ground_truth: str
    """Reference program of the task: prompt and canonical solution."""
    ground_truth_status: str | None
    """Status of the ground truth; None if it was not executed, or the store lacks its verdict."""
    ground_truth_trace: str
    quarantined: bool
    """True if the task was in quarantine when the run was scored."""
    rerun_command: str
    """Shell command that executes exactly this sample again."""
    row: Mapping[str, Any] = field(repr=False)
    """All columns of ``sql/samples.sql``; the other fields are made from this row."""

    @property
    def passed(self) -> bool | None:
        """True if the sample passed; None if it was not judged."""
        return None if self.verdict["status"] == "infra_error" else self.verdict["status"] == "pass"

    @property
    def answer(self) -> str | None:
        """Raw answer; None if the store lacks it or the provider returned an error instead."""
        return None if self.row["error"] else self.raw_answer

    @property
    def failures(self) -> str:
        """Text with name and traceback of each failed test; empty for status pass or timeout."""
        return "\n".join(f"{test}\n{trace}" for test, trace in failure_details(self.verdict).items())

    @property
    def measurements(self) -> dict[str, float]:
        """Measurements of the sandbox by name; missing measurements are left out."""
        return {name: self.verdict[name] for name in _MEASURED if measured(self.verdict[name])}

    @property
    def sanitizer_diff(self) -> str | None:
        """Unified diff from answer to solution; empty if answer and solution are equal, None if the store lacks either.

        Only the first 5,000 lines are compared, as the time grows with the square of the number of repeated lines.
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
        """Tests that failed or have no outcome, with their traces."""
        return [test for test in self.verdict["tests"] or () if test["outcome"] in FAILING_OUTCOMES]

    @property
    def title(self) -> str:
        """Title of the sample: task id, sample index and variant."""
        return f"{self.task_id}, sample {self.sample_index}, {self.variant}"

    @property
    def first_test_line(self) -> int:
        """Line number of the tests' first line in tracebacks: the tests' numbers continue those of the program."""
        return (self.program or "").count("\n") + 2


def detail_of(row: Row, run: RecordedRun) -> SampleDetail:
    """Build a sample's detail from a row of ``sql/samples.sql``."""
    solution, imported = row["solution"], row["provider"] == "imported"
    program = None
    if solution is not None:
        program = executed_program(code_prompt=row["code_prompt"], solution=solution, variant=row["variant"])
    traces = [row["ground_truth_module_trace"] or "", *(test["trace"] for test in row["ground_truth_tests"] or ())]
    rerun = ["bigcodeflow", "inspect", run.record, row["task_id"], "--sample", str(row["sample_index"])]
    rerun += ["--variant", row["variant"], "--store", run.store.location, "--rerun"]
    return SampleDetail(
        **{name: row[name] for name in _IDENTITY},
        verdict={name: row.get(name) for name in _VERDICT_COLUMNS},
        prompt=row["prompt"],
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
        rerun_command=shlex.join(rerun),
        row=row,
    )


def details_of(
    run: RecordedRun, connection: "DuckDBPyConnection", where: str, **wanted: object
) -> Iterator[SampleDetail]:
    """Yield the details of the run's samples that fulfil ``where``, an SQL condition on columns of ``sql/samples.sql``.

    The details are in the order of tasks and samples. ``wanted`` has the parameters of the condition.
    """
    sql = f"FROM samples WHERE position IS NOT NULL AND {where} ORDER BY position, {', '.join(_IDENTITY)}"
    for row in rows_from(connection.execute(sql, wanted)):
        yield detail_of(row, run)


class InspectedRun:
    """A recorded run whose tables are open."""

    def __init__(self, run: RecordedRun, connection: "DuckDBPyConnection", absent: Sequence[str]) -> None:
        self.run, self._connection = run, connection
        self.absent = absent
        """Display names of the artifacts of this run that the store lacks."""

    @cached_property
    def _facets(self) -> Mapping[str, list[str]]:
        """Values that occur in the run, by name of the property: status, kind, library, domain, variant, task."""
        found: dict[str, list[str]] = {}
        for row in models.rows_of(self._connection, "inspection_facets"):
            found.setdefault(row["facet"], []).append(row["value"])
        return found

    def samples(self, filters: Filters) -> list[Row]:
        """Return the samples that match ``filters``, in task order; columns as in ``sql/inspection_samples.sql``.

        An additional column ``quarantined`` tells if the task was in quarantine when the run was scored. Raises
        ConfigError if a filter has a value that the run does not have; the message lists the run's values.
        """
        statuses = filters.statuses or [status for status in self._facets.get("status", []) if status != "pass"]
        wanted = {
            "statuses": None if "all" in statuses else self._known("status", statuses),
            "kinds": self._known("kind", filters.kinds) or None,
            "libraries": self._known("library", filters.libraries) or None,
            "domains": self._known("domain", filters.domains) or None,
            "variants": self._known("variant", filters.variants) or None,
            "text": filters.text or None,
            "task_id": self.task_id(filters.task) if filters.task else None,
            "task_ids": None if filters.task_ids is None else sorted(filters.task_ids),
            "sample_index": filters.sample_index,
        }
        rows = models.rows_of(self._connection, "inspection_samples", wanted)
        return [row | {"quarantined": row["task_id"] in self.run.quarantined} for row in rows]

    def details(self, samples: Iterable[Mapping[str, Any]]) -> list[SampleDetail]:
        """Return the details of ``samples`` in the same order; each sample is a mapping, see `identity_of`."""
        found: list[SampleDetail] = []
        known: dict[tuple[Any, ...], SampleDetail] = {}
        for sample in samples:
            if identity_of(sample) not in known:  # samples of a task follow each other
                known = {identity_of(detail.row): detail for detail in self.task_details(sample["task_id"])}
            found.append(known[identity_of(sample)])
        return found

    def task_details(self, task_id: str) -> list[SampleDetail]:
        """Return the details of a task's samples, sorted by sample index; empty if the run lacks the task."""
        return list(details_of(self.run, self._connection, "task_id = $task_id", task_id=task_id))

    def task_id(self, text: str) -> str:
        """Return the id of the task whose id or number is ``text``; raise ConfigError if not exactly one task fits."""
        ids = self._facets.get("task", [])
        fitting = [text] if text in ids else [one for one in ids if one.rpartition("/")[2] == text]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise ConfigError(f"task {text!r} may be any of {', '.join(fitting)}: give the whole task id")
        close = difflib.get_close_matches(text, ids, n=3) or ids[:3]
        raise ConfigError(
            f"run {self.run.record} has no task {text!r}: choose from {len(ids):,} tasks, such as {', '.join(close)}"
        )

    def _known(self, facet: str, wanted: Sequence[str]) -> list[str]:
        there = {value.casefold(): value for value in self._facets.get(facet, [])}
        unknown = [value for value in wanted if value.casefold() not in there]
        if unknown:
            shown = list(there.values())[:_VALUES_SHOWN]
            more = f" and {len(there) - len(shown)} more" if len(there) > len(shown) else ""
            raise ConfigError(
                f"--{facet} {', '.join(unknown)}: run {self.run.record} has no such value: choose from "
                f"{', '.join(shown) or '(the run has no values)'}{more}"
            )
        return [there[value.casefold()] for value in wanted]


@contextmanager
def inspect_run(run: RecordedRun) -> Iterator[InspectedRun]:
    """Open a run's tables for inspection; raise ArtifactError if the tasks or verdicts are missing."""
    run.path("dataset")  # raises if the tasks are gone
    tables = tables_of(run)
    with open_tables([tables]) as connection:
        yield InspectedRun(run, connection, [words for table, words in _OPTIONAL.items() if table not in tables.files])


def identity_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the identity of a sample within its run: task_id, sample_index, variant and sanitizer."""
    return tuple(row[name] for name in _IDENTITY)


class DetailSection(NamedTuple):
    """A section of a sample's detail."""

    title: str
    text: str
    form: Literal["python", "diff", "text", "sentence"]
    """Format for display; a 'sentence' is written by this program, other texts come from models, tasks or sandboxes."""
    first_line: int = 0
    """Number of the first line; 0: show no line numbers."""


def reason(trace: str, end: str) -> str:
    """Return the reason of a failure in one line: the exception in ``trace``, else ``end`` (how execution ended)."""
    return one_line(cause_line(trace) or end)


def sections(detail: SampleDetail, *, portable: bool = False) -> Iterator[DetailSection]:
    """Yield the sections of a sample's detail in the order of the stages; a sentence replaces each missing text.

    ``portable`` leaves out the diff, which takes long for many samples, and the command, which names this machine's
    folders.
    """
    yield DetailSection("verdict", _verdict_line(detail), "sentence")
    yield DetailSection("prompt", detail.prompt, "text")
    if detail.raw_answer is None:
        yield DetailSection("raw answer", _NOT_KEPT, "sentence")
    else:
        ended = " (cut off by the token limit)" if detail.finish_reason == "length" else ""
        yield DetailSection(f"raw answer{ended}", detail.raw_answer, "text")
        diff = None if portable else detail.sanitizer_diff
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
    if not portable:
        yield DetailSection("execute this sample again", detail.rerun_command, "text")


def _verdict_line(detail: SampleDetail) -> str:
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
    """Tell if a value was measured; imported runs have None for missing values, or NaN from an earlier version."""
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
