"""Whether a judge deserves trust: the oracle passes, stub and cheat never do, and every expected test really ran."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from bigcodeflow.core.paths import shipped
from bigcodeflow.execution.expectations import sha256_of_test

#: Controls that no task may let pass.
MUST_NOT_PASS = ("stub", "cheat")


class Offence(NamedTuple):
    """One task on which a control does not hold."""

    task_id: str
    told: str
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
    offences = tuple(Offence(row["task_id"], _told(row)) for row in rows if row["status"] != "pass")
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
            told = f"{outcomes.count('pass')} of {row['tests_expected']} tests passed, {row['tests_run']} ran"
            offences.append(Offence(row["task_id"], told))
    return ControlResult("tests run", len(rows) - len(offences), len(rows), tuple(offences))


def check_never_passes(
    control: str, verdicts: pa.Table, tasks: pa.Table, judgeable: frozenset[str], *, names: Mapping[str, str]
) -> ControlResult:
    """A control that must pass nowhere: an honest failure, tampering, a crash and a limit are all in order.

    Args:
        control: what people call it.
        verdicts: rows of the VERDICTS schema, one a task.
        tasks: rows of the TASKS schema.
        judgeable: tasks whose ground truth passes; elsewhere a control that was not judged is no news.
        names: task_id → the attack made there, where there are several.
    """
    reasons = {task["task_id"]: vacuous_tests().get(sha256_of_test(task)) for task in tasks.to_pylist()}
    offences, vacuous = [], []
    rows = verdicts.select(["task_id", "status", "exit"]).to_pylist()
    for row in rows:
        task_id = row["task_id"]
        reason = reasons.get(task_id)
        attack = f" ({names[task_id]})" if task_id in names else ""
        if row["status"] == "pass" and reason:
            vacuous.append(Offence(task_id, f"its test {reason}"))
        elif row["status"] == "pass" or (row["status"] == "infra_error" and task_id in judgeable):
            offences.append(Offence(task_id, f"{_told(row)}{attack}"))
    held = len(rows) - len(offences) - len(vacuous)
    return ControlResult(control, held, len(rows), tuple(offences), tuple(vacuous))


def wording(result: ControlResult, most_named: int = 12) -> Sequence[str]:
    """One line that says how the control went, and one for those on which it did not hold."""
    verb = {"oracle": "pass", "tests run": "ran exactly the expected tests"}.get(result.control, "do not pass")
    lines = [f"{result.control}: {result.held:,} of {result.tasks:,} {verb}"]
    if result.vacuous:
        told = "; ".join(f"{one.task_id}: {one.told}" for one in result.vacuous)
        lines[0] += f"; {len(result.vacuous):,} pass whatever is judged ({told})"
    if result.offences:
        named = [f"{one.task_id} {one.told}" for one in result.offences[:most_named]]
        rest = len(result.offences) - len(named)
        lines.append(f"{result.control} does not hold: " + ", ".join(named) + (f" and {rest:,} more" if rest else ""))
    return lines


def _told(row: Mapping[str, Any]) -> str:
    status = str(row["status"])
    return {"pass": "passes", "infra_error": f"infra_error: {row['exit']}"}.get(status, status)


@cache
def vacuous_tests() -> Mapping[str, str]:
    """Sha256 of a test text of BigCodeBench that programs pass without solving the task → why."""
    facts = json.loads(shipped("data/bigcodebench/vacuous_tests.json").read_text(encoding="utf-8"))
    return MappingProxyType({fact["test_sha256"]: fact["reason"] for fact in facts})
