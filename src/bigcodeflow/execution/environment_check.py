"""Why an environment cannot judge a task: read from the verdict of the task's own ground truth."""

import re
from typing import Any, NamedTuple

import pyarrow as pa

#: What a traceback of a failed ground truth says → what the task needs. The first match counts.
_REASONS = (
    (
        "network",
        re.compile(
            r"gaierror|Name or service not known|Temporary failure in name resolution|ConnectionError|"
            r"Network is unreachable|Failed to resolve|ProxyError|URLError|ServerNotFound"
        ),
    ),
    ("data", re.compile(r"Resource \S* ?not found|nltk\.download|LookupError")),
    ("a library", re.compile(r"ModuleNotFoundError|ImportError|cannot open shared object")),
    ("a program", re.compile(r"No such file or directory: '[\w.-]+'|is not installed or")),
)


class UnjudgeableTask(NamedTuple):
    """A task whose ground truth does not pass here, so that no solution's verdict says anything."""

    task_id: str
    status: str
    reason: str
    """What it needs: network, data, a library, a program, more time, more memory, or 'unknown'."""
    evidence: str
    """Last line of the traceback, or how the sandbox ended."""


def unjudgeable_tasks(ground_truths: pa.Table) -> list[UnjudgeableTask]:
    """Tasks of a VERDICTS table of ground truths that do not pass, with the reason as far as it can be told."""
    return [_explain(row) for row in ground_truths.to_pylist() if row["status"] != "pass"]


def _explain(row: dict[str, Any]) -> UnjudgeableTask:
    traces = [row["module_trace"], *(test["trace"] for test in row["tests"])]
    text = "\n".join(trace for trace in traces if trace)
    if row["status"] == "timeout":
        reason = "more time"
    elif row["status"] == "out_of_memory":
        reason = "more memory"
    else:
        reason = next((reason for reason, pattern in _REASONS if pattern.search(text)), "unknown")
    first = next((trace for trace in traces if trace), "")
    lines = [line for line in first.strip().splitlines() if line.strip(" *-\x1b")]
    return UnjudgeableTask(row["task_id"], row["status"], reason, lines[-1].strip()[:160] if lines else row["exit"])
