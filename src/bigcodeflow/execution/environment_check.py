"""What an environment cannot do: libraries that do not import, and tasks whose own ground truth does not pass."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem

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


#: Runs inside the sandbox, as the program of an item whose only test passes.
_IMPORTER = """
import importlib, json
failures = {}
for name in %r:
    try:
        importlib.import_module(name)
    except BaseException as error:
        failures[name] = type(error).__name__ + ": " + str(error)
print(json.dumps(failures))
"""
_TEST = """
import unittest
class TestCases(unittest.TestCase):
    def test_imported(self):
        pass
"""
_IMPORT_SECONDS = 300.0


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
    return [explain(row) for row in ground_truths.to_pylist() if row["status"] != "pass"]


def failing_imports(environment: InstalledEnvironment, modules: Sequence[str]) -> dict[str, str]:
    """Modules that cannot be imported inside a sandbox of the environment, with the error of each.

    Raises:
        SandboxUnavailableError: no sandbox can be started here.
        ExecutionError: the imports did not come to an end.
    """
    backend = LocalBackend(environment, LimitsConfig())
    backend.check()
    program = _IMPORTER % (list(modules),)
    outcome = backend.execute(WorkItem("", program, _TEST, ("test_imported",), _IMPORT_SECONDS, frozenset()))
    lines = outcome.stdout.strip().splitlines()
    if not lines or not outcome.frames or outcome.frames[-1]["event"] != "end":
        told = " ".join(outcome.stderr.split())[-300:] or outcome.killed_for or outcome.exit
        raise ExecutionError(f"the libraries of {environment.name} could not all be imported ({told}): rebuild it")
    failures: dict[str, str] = json.loads(lines[-1])
    return failures


def absent_modules(environment: InstalledEnvironment, modules: Iterable[str]) -> frozenset[str]:
    """Those of some top-level modules that are neither Python's own nor among the environment's files."""
    folders = environment.root.glob("venv/lib/python3.*/site-packages")
    present = {entry.name.partition(".")[0] for folder in folders for entry in folder.iterdir()}
    return frozenset(modules) - present - sys.stdlib_module_names


def explain(row: dict[str, Any]) -> UnjudgeableTask:
    """What a verdict of a ground truth that does not pass says about its task; columns as in VERDICTS."""
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
