"""Samples in the report's page: an index of all samples, and a pack per task with all data about its samples.

Packs are compressed and base64-encoded; texts are cut so that the page does not exceed its size limit.
"""

import base64
import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from bigcodeflow.results.formatting import cause_line
from bigcodeflow.results.models import Row, rows_from, sql_of

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
#: Numbers and names of a sample that are shown unchanged, if they are known.
_FACTS = (
    "run_index", "sample_index", "variant", "sanitizer", "status", "failure_kind", "exit", "wall_seconds",
    "cpu_seconds", "max_rss_mib", "attempts", "flaky", "tampering", "integrity", "backend", "stdout_truncated",
    "stderr_truncated", "finish_reason", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd",
    "latency_seconds", "error", "truncated", "syntax_error", "tests_expected",
)  # fmt: skip
_TEXTS = ("prompt", "code_prompt", "canonical_solution", "test")

#: Texts of a task, in the order of ``_TEXTS``.
Texts = list[str | None]
#: Samples of a task, each with the texts of its prompt and judging.
Task = list[tuple[Row, Texts]]


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
    """Packs as they are written in the page."""

    listed: str
    """Pack of the columns of all samples that lists and searches read."""
    tasks: list[str]
    """Packs of the tasks, in the order of the index."""
    limit: TextLimit
    """Limit to which texts are cut: the largest that keeps the size."""

    @property
    def size(self) -> int:
        """Size in bytes, as each character takes one byte of the page."""
        return len(self.listed) + sum(map(len, self.tasks))


def pack_samples(connection: "DuckDBPyConnection", *, max_bytes: int) -> PackedSamples:
    """Pack all samples of the runs and their index into ``max_bytes``; cut texts only as much as necessary.

    The smallest limit removes all texts of samples; if that is still too large, the packs are returned anyway.
    """
    # Stored in the order of the query, so that the joins are computed once and each later read is a scan.
    connection.execute(f"CREATE OR REPLACE TEMP TABLE explored AS {sql_of('report/explored_samples')}")
    rows = connection.execute(sql_of("report/task_texts")).fetchall()
    texts = {(task, dataset, split): own for task, dataset, split, *own in rows}  # by task, dataset and split
    n_tasks = connection.sql("SELECT count(*) FROM judged_tasks").fetchall()[0][0]
    step = max(1, n_tasks // _TASKS_TRIED)
    tried = list(_by_task(connection, texts, step))
    share = len(tried) / n_tasks if n_tasks else 1.0

    def fits(limit: TextLimit) -> bool:
        return _pack(tried, limit).size <= max_bytes * share

    # Sizes decrease from limit to limit, so bisection finds the first that fits; usually it is the very first.
    first = 0 if fits(TEXT_LIMITS[0]) else bisect_left(TEXT_LIMITS, x=True, lo=1, hi=len(TEXT_LIMITS) - 1, key=fits)
    for limit in TEXT_LIMITS[first:]:
        packed = _pack(tried if step == 1 else _by_task(connection, texts, 1), limit)
        if packed.size <= max_bytes:
            break
    return packed


def _by_task(
    connection: "DuckDBPyConnection", texts: Mapping[tuple[int, int, str], Texts], step: int
) -> Iterator[Task]:
    rows = rows_from(connection.execute("SELECT * FROM explored WHERE task_index % $step = 0", {"step": step}))
    unknown: Texts = [None] * len(_TEXTS)
    for task, group in groupby(rows, key=itemgetter("task_index")):
        yield [(row, texts.get((task, row["dataset_run"], row["split"]), unknown)) for row in group]


def _pack(tasks: Iterable[Task], limit: TextLimit) -> PackedSamples:
    listed_rows: list[tuple[Any, ...]] = []
    packs = []
    for rows in tasks:
        listed_rows += [(*(row[name] for name in _COLUMNS), cause_of(row)) for row, _ in rows]
        packs.append(pack(_task_content(rows, limit)))
    listed = {}
    for number, name in enumerate((*_COLUMNS, "cause")):
        # Store distinct values and their indexes by row: statuses and causes occur thousands of times.
        places: dict[Any, int] = {}
        of_rows = [places.setdefault(row[number], len(places)) for row in listed_rows]
        listed[name] = {"values": list(places), "rows": of_rows}
    return PackedSamples(pack(listed), packs, limit)


def _task_content(rows: Task, limit: TextLimit) -> dict[str, Any]:
    """Return a task's samples; the task's texts occur uncut and only once, even if several runs share them."""
    texts: dict[tuple[str | None, ...], int] = {}
    samples = []
    for row, own in rows:
        place = texts.setdefault(tuple(own), len(texts))
        samples.append({**_sample(row, limit.passed if row["status"] == "pass" else limit.failed), "text": place})
    return {"texts": [dict(zip(_TEXTS, own, strict=True)) for own in texts], "samples": samples}


def _sample(row: Row, limit: int) -> Row:
    """Return all known data of a sample; leave out names without a value."""
    found: Row = {name: row[name] for name in _FACTS}
    # The solution follows the answer that contains it, so that it compresses to a few bytes.
    found |= {"answer": head(row["raw_text"] or "", limit), "solution": head(row["solution"] or "", limit)}
    found |= {"reasoning": tail(row["reasoning"] or "", limit // 2), "module_trace": tail(row["module_trace"], limit)}
    found |= {"tests": _tests(row["tests"], limit), "findings": row["findings"]}
    found |= {name: tail(row[name], limit // 2) for name in ("stdout", "stderr")}
    if row["ground_truth_status"] is not None:
        cause = cause_of(row, "ground_truth_")
        found["truth"] = {
            "status": row["ground_truth_status"],
            "failure_kind": row["ground_truth_failure_kind"],
            "cause": cause,
        }
    # Leave out None, empty texts and empty lists, but keep 0 and False.
    return {name: value for name, value in found.items() if value or value == 0}


def _tests(tests: list[Row] | None, limit: int) -> list[list[str]]:
    """Return name, outcome and trace of each test; traces share 2 * limit characters, with 300 to limit for each."""
    failing = sum(bool(test["trace"]) for test in tests or ())
    room = min(limit, max(300, 2 * limit // failing)) if failing else limit
    return [[test["name"], test["outcome"], tail(test["trace"] or "", room)] for test in tests or ()]


def cause_of(row: Row, prefix: str = "") -> str:
    """Return in one line why a sample did not pass: the test and its exception, or how the sandbox ended."""
    if row[f"{prefix}status"] == "pass":
        return ""
    trace, test = row[f"{prefix}module_trace"] or "", ""
    if not trace:
        failing = next((one for one in row[f"{prefix}tests"] or () if one["trace"]), None)
        test, trace = (f"{failing['name']}: ", failing["trace"]) if failing else ("", "")
    ended = row[f"{prefix}exit"]
    line = cause_line(trace) or (ended if ended != _QUIET_END else "") or row[f"{prefix}failure_kind"]
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
