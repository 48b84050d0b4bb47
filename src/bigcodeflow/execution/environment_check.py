"""What an environment cannot do, and whether its verdicts deserve trust.

Libraries that do not import, tasks whose own ground truth does not pass, and controls: the oracle passes, stub and
cheat never do, and every expected test really ran.
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.core.paths import shipped
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.planning import sha256_of_test

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
#: Controls that no task may let pass.
MUST_NOT_PASS = ("stub", "cheat")
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
    """Tasks of a VERDICTS table of ground truths that do not pass, with the reason as far as it is known."""
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
        message = " ".join(outcome.stderr.split())[-300:] or outcome.killed_for or outcome.exit
        raise ExecutionError(f"the libraries of {environment.name} could not all be imported ({message}): rebuild it")
    failures: dict[str, str] = json.loads(lines[-1])
    return failures


def absent_modules(environment: InstalledEnvironment, modules: Iterable[str]) -> frozenset[str]:
    """Those of some top-level modules that are neither Python's own nor among the environment's files."""
    folders = environment.root.glob("venv/lib/python3.*/site-packages")
    present = {entry.name.partition(".")[0] for folder in folders for entry in folder.iterdir()}
    return frozenset(modules) - present - sys.stdlib_module_names


def explain(row: dict[str, Any]) -> UnjudgeableTask:
    """What a verdict of a ground truth that does not pass says about its task; columns as in VERDICTS."""
    traces = [trace for trace in (row["module_trace"], *(test["trace"] for test in row["tests"])) if trace]
    text = "\n".join(traces)
    reason = next((reason for reason, pattern in _REASONS if pattern.search(text)), "unknown")
    reason = {"timeout": "more time", "out_of_memory": "more memory"}.get(row["status"], reason)
    lines = [line for line in "".join(traces[:1]).strip().splitlines() if line.strip(" *-\x1b")]
    return UnjudgeableTask(row["task_id"], row["status"], reason, lines[-1].strip()[:160] if lines else row["exit"])


class Offence(NamedTuple):
    """One task on which a control does not hold."""

    task_id: str
    description: str
    """What happened, such as 'passes' or 'infra_error: exit 1'."""


class ControlResult(NamedTuple):
    """What became of one control over all tasks."""

    control: str
    """oracle, stub, cheat, or 'tests run'."""
    held: int
    tasks: int
    offences: tuple[Offence, ...]
    vacuous: tuple[Offence, ...] = ()
    """Tasks that pass although they should not, because their tests are known to assert nothing about the function."""


def check_oracle(ground_truths: pa.Table) -> ControlResult:
    """Canonical solutions pass.

    Args:
        ground_truths: rows of the VERDICTS schema.
    """
    rows = ground_truths.select(["task_id", "status", "exit"]).to_pylist()
    offences = tuple(Offence(row["task_id"], _description(row)) for row in rows if row["status"] != "pass")
    return ControlResult("oracle", len(rows) - len(offences), len(rows), offences)


def check_tests_run(ground_truths: pa.Table) -> ControlResult:
    """Where the canonical solution passes, exactly the tests that a static reading expects have run, and at least one.

    Args:
        ground_truths: rows of the VERDICTS schema.
    """
    rows = [row for row in ground_truths.to_pylist() if row["status"] == "pass"]
    offences = []
    for row in rows:
        outcomes = [test["outcome"] for test in row["tests"]]
        if not outcomes or not row["tests_run"] == row["tests_expected"] == outcomes.count("pass"):
            text = f"{outcomes.count('pass')} of {row['tests_expected']} tests passed, {row['tests_run']} ran"
            offences.append(Offence(row["task_id"], text))
    return ControlResult("tests run", len(rows) - len(offences), len(rows), tuple(offences))


def check_never_passes(
    control: str, verdicts: pa.Table, tasks: pa.Table, judgeable: frozenset[str], *, names: Mapping[str, str]
) -> ControlResult:
    """A control that must pass nowhere: an honest failure, tampering, a crash and a limit are all in order.

    Args:
        verdicts: rows of the VERDICTS schema, one a task.
        tasks: rows of the TASKS schema.
        judgeable: tasks whose ground truth passes; elsewhere a control that was not judged is no news.
        names: task_id → the attack made there, where there are several.
    """
    reasons = {task["task_id"]: vacuous_tests().get(sha256_of_test(task)) for task in tasks.to_pylist()}
    offences, vacuous = [], []
    rows = verdicts.select(["task_id", "status", "exit"]).to_pylist()
    for row in rows:
        task_id, reason = row["task_id"], reasons.get(row["task_id"])
        attack = f" ({names[task_id]})" if task_id in names else ""
        if row["status"] == "pass" and reason:
            vacuous.append(Offence(task_id, f"its test {reason}"))
        elif row["status"] == "pass" or (row["status"] == "infra_error" and task_id in judgeable):
            offences.append(Offence(task_id, f"{_description(row)}{attack}"))
    held = len(rows) - len(offences) - len(vacuous)
    return ControlResult(control, held, len(rows), tuple(offences), tuple(vacuous))


def wording(result: ControlResult, most_named: int = 12) -> Sequence[str]:
    """One line that says how the control went, and one for those on which it did not hold."""
    verb = {"oracle": "pass", "tests run": "ran exactly the expected tests"}.get(result.control, "do not pass")
    lines = [f"{result.control}: {result.held:,} of {result.tasks:,} {verb}"]
    if result.vacuous:
        text = "; ".join(f"{one.task_id}: {one.description}" for one in result.vacuous)
        lines[0] += f"; {len(result.vacuous):,} pass whatever is judged ({text})"
    if result.offences:
        named = [f"{one.task_id} {one.description}" for one in result.offences[:most_named]]
        rest = len(result.offences) - len(named)
        lines.append(f"{result.control} does not hold: " + ", ".join(named) + (f" and {rest:,} more" if rest else ""))
    return lines


def _description(row: Mapping[str, Any]) -> str:
    status = str(row["status"])
    return {"pass": "passes", "infra_error": f"infra_error: {row['exit']}"}.get(status, status)


@cache
def vacuous_tests() -> Mapping[str, str]:
    """Sha256 of a test text of BigCodeBench that programs pass without solving the task → why."""
    facts = json.loads(shipped("data/bigcodebench/vacuous_tests.json").read_text(encoding="utf-8"))
    return MappingProxyType({fact["test_sha256"]: fact["reason"] for fact in facts})
