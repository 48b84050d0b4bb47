"""Checks of an environment: tasks that it cannot judge, controls of the judge, and repeated ground truths.

The quarantine list (see ``execution.quarantine``) counts every execution of a ground truth. Executions are numbered
from that count, so that an interrupted check continues where it stopped, and a finished check is counted only once.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.config import ExecutionConfig, LimitsConfig
from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.core.files import locked
from bigcodeflow.core.paths import shipped
from bigcodeflow.core.schemas import QUARANTINE, table_of
from bigcodeflow.execution.costs import sha256_of_test
from bigcodeflow.execution.engine import Progress, execute_items
from bigcodeflow.execution.planning import plan_ground_truths
from bigcodeflow.execution.quarantine import QUARANTINE_FOLDER, Row, quarantine_name, read_quarantine
from bigcodeflow.execution.verdict_index import VerdictIndex
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import Environment, InstalledEnvironment
from bigcodeflow.judge.guest.protocol import HARNESS_VERSION
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem, numbered, untested_item
from bigcodeflow.store import LogFiles, Store

#: Resource that a task lacks, and the pattern that shows it in a ground truth's traceback. The first match counts.
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
#: Controls that must not pass in any task.
MUST_NOT_PASS = ("stub", "cheat")
#: Program that runs inside the sandbox, in an item whose only test passes.
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


class UnjudgeableTask(NamedTuple):
    """Task whose ground truth does not pass in this environment, so that verdicts of its solutions mean nothing."""

    task_id: str
    status: str
    reason: str
    """Missing resource: network, data, a library, a program, more time, more memory, or 'unknown'."""
    evidence: str
    """Last line of the traceback, or how the sandbox ended."""


def unjudgeable_tasks(ground_truths: pa.Table) -> list[UnjudgeableTask]:
    """Return the tasks whose ground truth does not pass, with the reason if known; ``ground_truths``: VERDICTS rows."""
    return [_explained(row) for row in ground_truths.to_pylist() if row["status"] != "pass"]


def failing_imports(environment: InstalledEnvironment, modules: Sequence[str]) -> dict[str, str]:
    """Return the modules that cannot be imported inside a sandbox of the environment, with the error of each."""
    backend = LocalBackend(environment, LimitsConfig())
    backend.check()
    outcome = backend.execute(untested_item(_IMPORTER % (list(modules),), 300.0))
    lines = outcome.stdout.strip().splitlines()
    if not lines or not outcome.frames or outcome.frames[-1]["event"] != "end":
        message = " ".join(outcome.stderr.split())[-300:] or outcome.killed_for or outcome.exit
        raise ExecutionError(f"environment {environment.name}: libraries cannot be imported ({message}): rebuild it")
    return cast("dict[str, str]", json.loads(lines[-1]))


def _explained(row: dict[str, Any]) -> UnjudgeableTask:
    traces = [trace for trace in (row["module_trace"], *(test["trace"] for test in row["tests"])) if trace]
    text = "\n".join(traces)
    reason = next((reason for reason, pattern in _REASONS if pattern.search(text)), "unknown")
    reason = {"timeout": "more time", "out_of_memory": "more memory"}.get(row["status"], reason)
    lines = [line for line in "".join(traces[:1]).strip().splitlines() if line.strip(" *-\x1b")]
    return UnjudgeableTask(row["task_id"], row["status"], reason, lines[-1].strip()[:160] if lines else row["exit"])


class Offence(NamedTuple):
    """Task for which a control got a wrong result, and its description, such as 'passes' or 'infra_error: exit 1'."""

    task_id: str
    description: str


class ControlResult(NamedTuple):
    """Result of a control (oracle, stub, cheat or 'tests run') over all tasks."""

    control: str
    tasks: int
    offences: Sequence[Offence]
    vacuous: Sequence[Offence] = ()
    """Tasks that pass although they should not, because their tests are known to assert nothing about the function."""

    @property
    def held(self) -> int:
        return self.tasks - len(self.offences) - len(self.vacuous)


def check_oracle(ground_truths: pa.Table) -> ControlResult:
    rows = ground_truths.select(["task_id", "status", "exit"]).to_pylist()
    offences = [Offence(row["task_id"], _description(row)) for row in rows if row["status"] != "pass"]
    return ControlResult("oracle", len(rows), offences)


def check_tests_run(ground_truths: pa.Table) -> ControlResult:
    """Check that each passing canonical solution ran at least one test, and exactly the tests in its test text."""
    rows = [row for row in ground_truths.to_pylist() if row["status"] == "pass"]
    offences = []
    for row in rows:
        passed = [test["outcome"] for test in row["tests"]].count("pass")
        if not row["tests"] or not row["tests_run"] == row["tests_expected"] == passed:
            text = f"{passed} of {row['tests_expected']} tests passed, {row['tests_run']} ran"
            offences.append(Offence(row["task_id"], text))
    return ControlResult("tests run", len(rows), offences)


def check_never_passes(
    control: str, verdicts: pa.Table, tasks: pa.Table, judgeable: frozenset[str], *, names: Mapping[str, str]
) -> ControlResult:
    """Check a control that must not pass on any task; an infra_error is also wrong if the task is ``judgeable``.

    Args:
        verdicts: rows of VERDICTS, one per task.
        judgeable: tasks whose ground truth passes; an infra_error of any other task is not reported.
        names: task_id → name of the attack on that task, if there are several attacks.
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
    return ControlResult(control, len(rows), offences, vacuous)


def wording(result: ControlResult, most_named: int = 12) -> Sequence[str]:
    """Return a line with the control's result, and a second line with its wrong verdicts if there are any."""
    verb = {"oracle": "pass", "tests run": "ran exactly the expected tests"}.get(result.control, "do not pass")
    lines = [f"{result.control}: {result.held:,} of {result.tasks:,} {verb}"]
    if result.vacuous:
        text = "; ".join(f"{one.task_id}: {one.description}" for one in result.vacuous)
        lines[0] += f"; {len(result.vacuous):,} pass whatever is judged ({text})"
    if result.offences:
        named = [f"{one.task_id} {one.description}" for one in result.offences[:most_named]]
        rest = len(result.offences) - len(named)
        lines.append(f"control {result.control} failed: " + ", ".join(named) + (f" and {rest:,} more" if rest else ""))
    return lines


def _description(row: Mapping[str, Any]) -> str:
    status = str(row["status"])
    return {"pass": "passes", "infra_error": f"infra_error: {row['exit']}"}.get(status, status)


@cache
def vacuous_tests() -> Mapping[str, str]:
    """Return the BigCodeBench tests that programs pass without solving the task: SHA-256 of the test text → reason."""
    facts = json.loads(shipped("data/bigcodebench/vacuous_tests.json").read_text(encoding="utf-8"))
    return MappingProxyType({fact["test_sha256"]: fact["reason"] for fact in facts})


def repeat_ground_truths(
    tasks: pa.Table,
    *,
    times: int,
    config: ExecutionConfig,
    environment: Environment,
    store: Store,
    workers: Workers | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """Execute ground truths ``times`` times, and add the outcomes to the quarantine list; return its rows of ``tasks``.

    The store keeps the ledger until all executions are finished. Without ``workers``, separate workers are started.
    """
    sha = environment.environment_sha
    truths = plan_ground_truths(tasks, config=config, environment=environment, costs=VerdictIndex(store).costs())
    known, planned = _rows(store, sha), dict[tuple[str, str], tuple[Row, list[WorkItem]]]()
    for task, truth in zip(tasks.to_pylist(), truths, strict=True):
        identity = task["task_id"], sha256_of_test(task)
        row = known.get(identity)
        if row is None or row["harness_version"] != HARNESS_VERSION:
            row = {"task_id": identity[0], "test_sha256": identity[1], "harness_version": HARNESS_VERSION}
            row |= {"executions": 0, "passes": 0, "statuses": [], "reason": "", "evidence": ""}
        numbers = range(row["executions"], row["executions"] + times)
        planned[identity] = row, [numbered(truth.item, number) for number in numbers]
    items = [item for _, repetitions in planned.values() for item in repetitions]
    folder = store.workspace(QUARANTINE_FOLDER, sha)
    with store.synchronized(folder, LogFiles.VERDICTS):
        found = execute_items(
            items, config=config, environment=environment, ledger_folder=folder, workers=workers, progress=progress
        )
    # Two checks on one machine wait for each other here; on two machines the last writer wins.
    with locked(store.root / QUARANTINE_FOLDER / ".lock"):
        rows = _rows(store, sha)
        for identity, (before, repetitions) in planned.items():
            counted = _counted(before, [found[item.verdict_key] for item in repetitions])
            current = rows.get(identity)
            # Keep a row that a concurrent check has changed in the meantime.
            is_ours = current is None or current["harness_version"] != HARNESS_VERSION or current == before
            if counted["executions"] and is_ours:
                rows[identity] = counted
        ordered = sorted(rows.values(), key=lambda row: (row["task_id"], row["test_sha256"]))
        sink = pa.BufferOutputStream()
        pq.write_table(table_of(ordered, schema=QUARANTINE), sink, compression="zstd")
        store.write(quarantine_name(sha), sink.getvalue().to_pybytes())
    store.discard(folder)
    return [rows[identity] for identity in planned if identity in rows]


def _counted(before: Row, verdicts: Iterable[Row]) -> Row:
    final = [verdict for verdict in verdicts if verdict["status"] != "infra_error"]
    statuses = [verdict["status"] for verdict in final]
    row = before | {
        "executions": before["executions"] + len(final),
        "passes": before["passes"] + statuses.count("pass"),
        "statuses": sorted({*before["statuses"], *statuses}),
    }
    failures = [verdict for verdict in final if verdict["status"] != "pass"]
    if failures:
        why = _explained(failures[-1] | {"task_id": before["task_id"]})
        row |= {"reason": why.reason, "evidence": why.evidence}
    return row


def _rows(store: Store, environment_sha: str) -> dict[tuple[str, str], Row]:
    """Return the rows of the quarantine list, by the pair (task_id, test_sha256)."""
    return {(row["task_id"], row["test_sha256"]): row for row in read_quarantine(store, environment_sha)}
