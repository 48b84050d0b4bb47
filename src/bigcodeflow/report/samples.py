"""Samples in the report's page: an index of all samples, and a pack per task with the parts of its samples.

Packs are compressed and base64-encoded; texts are cut so that the page does not exceed its size limit.
"""

import ast
import base64
import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from textwrap import dedent
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings

from bigcodeflow.report.overview import duration
from bigcodeflow.report.runs import ReportedRun
from bigcodeflow.results.formatting import cause_line
from bigcodeflow.results.inspection.samples import SampleDetail, detail_of, measured, sections
from bigcodeflow.results.models import rows_from, sql_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Level 6 is within 1 % of the size of level 9 on recorded samples, in half the time.
_COMPRESSION = 6
#: Number of tasks that are packed to test a text limit.
_TASKS_TRIED = 40
_LONGEST_CAUSE = 140
#: Exit of a sandbox whose tests only fail: not a cause of the failure.
_QUIET_END = "exit 0"
_COLUMNS = ("task_index", "run_index", "sample_index", "variant", "sanitizer", "status", "failure_kind")
_TOKENS = {"prompt_tokens": "tokens sent", "completion_tokens": "received", "reasoning_tokens": "of these reasoning"}
#: Parts of a sample that are open initially; the others open on a click.
_OPEN = ("verdict", "executed program", "the module itself failed")
#: The task's texts that a page shows; they are empty if the store lacks the dataset.
_TEXTS = ("prompt", "complete_prompt", "code_prompt", "canonical_solution", "test")

#: Samples of a task; their rows are those of ``report/explored_samples.sql`` with the task's texts.
Task = list[SampleDetail]


class Part(NamedTuple):
    """A titled part of a sample's page, such as the prompt, a program or a trace."""

    title: str
    form: str
    """Format for display, see :class:`DetailSection`."""
    is_open: bool
    first_line: int
    """Number of the first line; 0: show no line numbers."""
    beside: bool
    """True if a wide page shows the part next to its counterpart: trace and source of a failing test form a pair."""
    text: str


class TextLimit(NamedTuple):
    """Maximum number of characters of a sample's text in the page, by outcome of the sample."""

    failed: int
    """Limit for samples that did not pass, which interest readers most."""
    passed: int


#: Limits from large to zero; the first with a small enough page is used.
TEXT_LIMITS = (
    TextLimit(40_000, 40_000),
    TextLimit(10_000, 10_000),
    TextLimit(5_000, 4_000),
    TextLimit(4_000, 2_500),
    TextLimit(3_000, 1_500),
    TextLimit(3_000, 800),
    TextLimit(2_000, 400),
    TextLimit(2_000, 0),
    TextLimit(1_200, 0),
    TextLimit(600, 0),
    TextLimit(250, 0),
    TextLimit(0, 0),
)


class PackedSamples(NamedTuple):
    """Compressed samples as texts (packs), in the form in which the page contains them."""

    listed: str
    """Pack of the index: the columns of all samples that lists and searches read."""
    tasks: list[str]
    """Packs of the samples of each task, in the order of the index."""
    limit: TextLimit
    """Limit to which texts are cut: the largest of TEXT_LIMITS with which the page is small enough."""

    @property
    def size(self) -> int:
        """Size of the packs on the page in bytes; packs are ASCII texts."""
        return len(self.listed) + sum(map(len, self.tasks))


def pack_samples(connection: "DuckDBPyConnection", runs: Sequence[ReportedRun], *, max_bytes: int) -> PackedSamples:
    """Compress the runs' samples and their index to at most ``max_bytes``; cut texts only as much as necessary.

    The smallest text limit removes all texts of samples; if the result is still too large, it is returned anyway.
    """
    # Stored in the order of the query, so that the joins are computed once and each later read is a scan.
    connection.execute(f"CREATE OR REPLACE TEMP TABLE explored AS {sql_of('report/explored_samples')}")
    rows = connection.execute(sql_of("report/task_texts")).fetchall()
    texts = {(task, dataset, split): dict(zip(_TEXTS, own, strict=True)) for task, dataset, split, *own in rows}
    unknown = dict.fromkeys(_TEXTS, "")
    n_tasks = connection.sql("SELECT count(*) FROM judged_tasks").fetchall()[0][0]
    step = max(1, n_tasks // _TASKS_TRIED)

    def by_task(step: int) -> Iterator[Task]:
        """Yield the samples of every ``step``-th task."""
        found = rows_from(connection.execute("SELECT * FROM explored WHERE task_index % $step = 0", {"step": step}))
        for task, group in groupby(found, key=itemgetter("task_index")):
            whole = (row | texts.get((task, row["dataset_run"], row["split"]), unknown) for row in group)
            yield [detail_of(row, runs[row["run_index"]].recorded) for row in whole]

    tried = list(by_task(step))
    share = len(tried) / n_tasks if n_tasks else 1.0

    def fits(limit: TextLimit) -> bool:
        return _pack(tried, limit).size <= max_bytes * share

    # Sizes decrease from limit to limit, so bisection finds the first that fits; usually it is the very first.
    first = 0 if fits(TEXT_LIMITS[0]) else bisect_left(TEXT_LIMITS, x=True, lo=1, hi=len(TEXT_LIMITS) - 1, key=fits)
    for limit in TEXT_LIMITS[first:]:
        packed = _pack(tried if step == 1 else by_task(1), limit)
        if packed.size <= max_bytes:
            break
    return packed


def _pack(tasks: Iterable[Task], limit: TextLimit) -> PackedSamples:
    listed_rows: list[tuple[Any, ...]] = []
    packs = []
    for details in tasks:
        listed_rows += [(*(one.row[name] for name in _COLUMNS), cause_of(one.row)) for one in details]
        packs.append(pack(_task_content(details, limit)))
    listed = {}
    for number, name in enumerate((*_COLUMNS, "cause")):
        # Store distinct values and their indexes by row: statuses and causes occur thousands of times.
        places: dict[Any, int] = {}
        of_rows = [places.setdefault(row[number], len(places)) for row in listed_rows]
        listed[name] = {"values": list(places), "rows": of_rows}
    return PackedSamples(pack(listed), packs, limit)


def _task_content(details: Task, limit: TextLimit) -> dict[str, Any]:
    """Return a task's samples; each text occurs only once, even if several samples share it."""
    texts: dict[str, int] = {}
    samples = []
    for detail in details:
        most = limit.passed if detail.passed else limit.failed
        shown = [
            (*part[:-1], texts.setdefault(_cut(part, detail, most), len(texts)))
            for part in parts(detail, portable=True)
        ]
        samples.append({"notices": notices(detail), "steps": steps(detail), "parts": shown})
    return {"texts": list(texts), "samples": samples}


def _cut(part: Part, detail: SampleDetail, limit: int) -> str:
    """Cut a text of the sample to ``limit`` characters; texts of the task stay whole.

    Programs and answers keep their beginning, all other texts their end.
    """
    of_task = (text.rstrip("\n") for text in (detail.prompt, detail.test, detail.ground_truth))
    if part.form == "sentence" or part.text in of_task:
        return part.text
    from_start = part.form == "python" or part.title.startswith("raw answer")
    return (head if from_start else tail)(part.text, limit)


def notices(detail: SampleDetail) -> list[str]:
    """Return reasons why the verdict may say nothing about the model."""
    found = []
    if detail.quarantined:
        found.append(
            "This task is in quarantine: its own solution does not always pass, so that this verdict may be chance."
        )
    if detail.ground_truth_status not in (None, "pass"):
        cause = (detail.row["ground_truth_failure_kind"] or detail.ground_truth_status).replace("_", " ")
        found.append(
            f"The task's own solution does not pass here either ({cause}): this verdict says nothing about the model."
        )
    return found


def steps(detail: SampleDetail) -> list[tuple[str, str, str]]:
    """Return the steps of a sample (answered, sanitized, executed, judged), each as name, duration and result."""
    verdict, answer = detail.verdict, detail.row
    found = []
    if answer["provider"] not in (None, "imported"):
        tokens = [f"{answer[name]:,} {words}" for name, words in _TOKENS.items() if answer[name] is not None]
        tokens += [f"{answer['cost_usd']:,.6f} USD"] if answer["cost_usd"] is not None else []
        ended = f"ended with {answer['finish_reason']}" if answer["finish_reason"] else ""
        came = "; ".join(filter(None, (answer["served_model"] or answer["provider"], ended, ", ".join(tokens))))
        found.append(("answered", duration(answer["latency_seconds"]), answer["error"] or came))
    flags = ", ".join(flag.replace("_", " ") for flag in detail.flags) or "nothing noticeable"
    found.append(("sanitized", "", f"{detail.sanitizer}: {answer['syntax_error'] or flags}"))
    wall = duration(verdict["wall_seconds"]) if measured(verdict["wall_seconds"]) else ""
    executed = [f"by {verdict['backend']}"]
    if measured(verdict["cpu_seconds"]):
        executed.append(f"{duration(verdict['cpu_seconds'])} of CPU")
    if measured(verdict["max_rss_mib"]):
        executed.append(f"{verdict['max_rss_mib']:,.0f} MiB at most")
    executed += [f"{verdict['attempts']} executions"] if (verdict["attempts"] or 1) > 1 else []
    executed += [verdict["exit"]] if verdict["exit"] else []
    found.append(("executed", wall, "; ".join(executed)))
    kind = verdict["failure_kind"].replace("_", " ")
    judged = f"{verdict['status'].replace('_', ' ')}{f' ({kind})' if kind else ''}"
    checked = f"; check of the pass: {verdict['integrity']}" if verdict["integrity"] else ""
    found.append(("judged", "", f"{judged}{checked}"))
    return found


def parts(detail: SampleDetail, *, portable: bool = False) -> Iterator[Part]:
    """Yield the parts of the sample's page: those of `inspect`, all tests, the reasoning; empty parts are left out.

    ``portable`` leaves out the sanitizer's diff and the command with this machine's paths, see `sections`.
    """
    for title, text, form, first_line in sections(detail, portable=portable):
        failed = bool(detail.failing_tests) and title.endswith((": fail", ": error"))
        name = title.rpartition(":")[0].rpartition(".")[2]
        line, source = _methods(detail.test).get(name, (0, "")) if failed else (0, "")
        if text.rstrip("\n"):
            yield Part(title, form, title in _OPEN or failed, first_line, bool(source), text.rstrip("\n"))
        if source:
            at = detail.first_test_line + line - 1
            yield Part(f"{name}: source", "python", is_open=True, first_line=at, beside=True, text=source)
    tests = detail.verdict["tests"] or ()
    lines = [f"{one['outcome'].replace('_', ' '):<10} {duration(one['seconds']):>7}  {one['name']}" for one in tests]
    for title, text in (("all tests and their times", "\n".join(lines)), ("reasoning", detail.row["reasoning"])):
        if text:
            yield Part(title, form="text", is_open=False, first_line=0, beside=False, text=text)


@lru_cache(maxsize=32)
def _methods(test: str) -> Mapping[str, tuple[int, str]]:
    """Return first line and source of each test method by name; empty if this Python cannot parse the text."""
    try:
        with catch_warnings(action="ignore"):
            tree = ast.parse(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    lines = test.splitlines()
    return {
        node.name: (node.lineno, dedent("\n".join(lines[node.lineno - 1 : node.end_lineno])))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }


def cause_of(row: Mapping[str, Any]) -> str:
    """Return one line on why a sample did not pass: the test and its exception, or how the sandbox ended."""
    if row["status"] == "pass":
        return ""
    trace, test = row["module_trace"], ""
    if not trace:
        failing = next((one for one in row["tests"] or () if one["trace"]), None)
        test, trace = (f"{failing['name']}: ", failing["trace"]) if failing else ("", "")
    ended = row["exit"]
    line = cause_line(trace) or (ended if ended != _QUIET_END else "") or row["failure_kind"]
    return f"{test}{line}"[:_LONGEST_CAUSE]


def pack(content: Any) -> str:
    """Return the content as JSON, zlib-compressed in base64; the page reads it with DecompressionStream('deflate')."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), _COMPRESSION)).decode()


def head(text: str, limit: int) -> str:
    """Return the beginning of the text, with a mark if the rest was cut."""
    return text if len(text) <= limit else f"{text[:limit]}\n{_mark(len(text) - limit)}"


def tail(text: str, limit: int) -> str:
    """Return the end of the text, with a mark if the rest was cut: a traceback's last lines are the most important."""
    return text if len(text) <= limit else f"{_mark(len(text) - limit)}\n{text[len(text) - limit :]}"


def _mark(n_characters: int) -> str:
    return f"[… {n_characters:,} characters are not in this file; they are in the store …]"
