"""What an observed execution means: status, failure kind, and one outcome for every expected test.

failure_kind is one of ``failure_kinds.KINDS``; empty for a pass, and only for a pass.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bigcodeflow.core.tracebacks import failed_import, raised
from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.backends.observation import SIGKILL_EXITS
from bigcodeflow.execution.failure_kinds import failure_kind
from bigcodeflow.execution.items import ANY_IMPORT, WorkItem
from bigcodeflow.sandbox.protocol import LAST_EVENTS

_TIME_LIMITS = ("wall time", "cpu time")
#: Outcomes that an honest test never has, because the tests read statically contain none of them.
_EVASIONS = ("skip", "expected_failure", "unexpected_success")


class Judgement(NamedTuple):
    """Status and finer cause of a failure."""

    status: str
    failure_kind: str


def verdict(
    item: WorkItem, outcome: Outcome, *, backend: str, environment_sha: str, attempts: int = 1
) -> dict[str, Any]:
    """The verdict of one execution: the columns of VERDICTS that do not depend on whose sample it was."""
    tests = _tests(item, outcome)
    tampering = _tampering(item, outcome)
    judged = _judge(item, outcome, tests, tampering)
    broken = _frame(outcome, "module_failed") or _frame(outcome, "class_failed")
    return {
        "verdict_key": item.verdict_key,
        "status": judged.status,
        "failure_kind": judged.failure_kind,
        "tests": [{key: test[key] for key in ("name", "outcome", "seconds", "trace")} for test in tests],
        "module_trace": (broken or {}).get("trace", ""),
        "tests_expected": len(item.expected_tests),
        "tests_run": sum(test["outcome"] != "missing" for test in tests),
        "wall_seconds": round(outcome.wall_seconds, 4),
        "cpu_seconds": round(outcome.cpu_seconds, 4),
        "test_cpu_seconds": round(_test_cpu_seconds(outcome), 4),
        "max_rss_mib": round(outcome.max_rss_mib, 1),
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "stdout_truncated": outcome.stdout_truncated,
        "stderr_truncated": outcome.stderr_truncated,
        "attempts": attempts,
        "flaky": None,
        "tampering": tampering,
        "backend": backend,
        "environment_sha": environment_sha,
        "exit": f"killed: {outcome.killed_for}" if outcome.killed_for else outcome.exit,
    }


def blocked_verdict(item: WorkItem, reason: str, *, backend: str, environment_sha: str) -> dict[str, Any]:
    """The verdict of a sample that the safety policy does not let run."""
    unrun = verdict(item, Outcome(exit="not started"), backend=backend, environment_sha=environment_sha)
    return unrun | {"status": "fail", "failure_kind": "safety_policy", "module_trace": reason}


def lost_verdict(item: WorkItem, reason: str, *, backend: str, environment_sha: str) -> dict[str, Any]:
    """The verdict of a sample whose worker or sandbox was lost again and again: never the model's failure."""
    unrun = verdict(item, Outcome(exit=reason), backend=backend, environment_sha=environment_sha)
    return unrun | {"status": "infra_error", "failure_kind": "infrastructure", "module_trace": reason}


def renewed(row: dict[str, Any], item: WorkItem) -> dict[str, Any]:
    """A stored verdict as it is made today: the outcome stands, what it is called may have changed since.

    Args:
        row: columns of VERDICTS, of an execution of the item.
        item: what was executed.
    """
    traces = [row["module_trace"], *(test["trace"] for test in row["tests"] if test["outcome"] in ("fail", "error"))]
    causes = [{"trace": trace, **raised(trace)._asdict()} for trace in traces if trace]
    if row["status"] != "fail" or not causes or not causes[0]["exception"]:
        return row
    if causes[0]["exception"].startswith("Exception ") and row["failure_kind"] != "exception":
        return row  # a library's class, whose bases only the execution told
    kinds = [_kind(item, cause) for cause in causes]
    if "infrastructure" in kinds:
        return row | {"status": "infra_error", "failure_kind": "infrastructure"}
    return row | {"failure_kind": kinds[0]}


def worth_repeating(outcome: Outcome) -> bool:
    """Whether the execution may have been ended from outside, so that its outcome says nothing yet.

    A SIGKILL that the executor did not send came from the program itself, from the kernel's memory killer or from
    somebody else. Only an execution that ends that way again was ended by its program.
    """
    started = _frame(outcome, "started") is not None
    killed_by_stranger = outcome.exit in SIGKILL_EXITS and not outcome.killed_for and not _ended(outcome)
    return killed_by_stranger or not (started or outcome.violations or outcome.killed_for)


def _judge(item: WorkItem, outcome: Outcome, tests: list[dict[str, Any]], tampering: list[str]) -> Judgement:
    if tampering:
        return Judgement("tampered", "tampering")
    early = _judge_end(outcome)
    if early:
        return early
    failed = _frame(outcome, "module_failed")
    if failed:
        return _judge_module(item, failed)
    if not item.expected_tests:
        return Judgement("fail", "no_tests")  # an empty run would pass by having failed nothing
    if all(test["outcome"] == "pass" for test in tests) and not _frame(outcome, "class_failed"):
        return Judgement("pass", "")
    return _judge_tests(item, outcome, tests)


def _judge_end(outcome: Outcome) -> Judgement | None:
    """How the sandbox ended, where that alone decides."""
    if _ended(outcome):
        return None
    if outcome.killed_for in _TIME_LIMITS:
        return Judgement("timeout", "timeout")
    if outcome.killed_for == "memory":
        return Judgement("out_of_memory", "memory")
    if _frame(outcome, "started") is None:
        return Judgement("infra_error", "infrastructure")
    if outcome.exit.startswith("signal "):
        return Judgement("infra_error", "infrastructure")  # the sandbox itself was killed, which its program cannot do
    return Judgement("crash", "crash")


def _judge_module(item: WorkItem, failed: Mapping[str, Any]) -> Judgement:
    kind = _kind(item, failed)
    if kind == "syntax" and failed["phase"] == "compile":
        return Judgement("syntax_error", "syntax")
    return Judgement(_status_of(kind), kind)


def _judge_tests(item: WorkItem, outcome: Outcome, tests: list[dict[str, Any]]) -> Judgement:
    class_failed = _frame(outcome, "class_failed")
    causes = [test for test in tests if test["outcome"] in ("fail", "error")]
    kinds = [_kind(item, cause) for cause in ([class_failed] if class_failed else []) + causes]
    for decisive in ("infrastructure", "memory"):
        if decisive in kinds:
            return Judgement(_status_of(decisive), decisive)
    if kinds:
        return Judgement("fail", kinds[0])
    skipped = any(test["outcome"] == "skip" for test in tests)
    return Judgement("fail", "no_tests" if skipped else "assertion")  # else one passed that the task wants to fail


def _status_of(kind: str) -> str:
    return {"memory": "out_of_memory", "infrastructure": "infra_error"}.get(kind, "fail")


def _kind(item: WorkItem, cause: Mapping[str, Any]) -> str:
    trace, exception = cause["trace"], cause["exception"]
    # Never by what the program says alone: it could raise itself out of its score.
    if not item.missing_imports.isdisjoint((*ANY_IMPORT, failed_import(trace))) and "ImportError" in exception.split():
        return "infrastructure"
    return failure_kind(trace, exception, program=item.program, test=item.test, setup=item.setup_names)


def _tests(item: WorkItem, outcome: Outcome) -> list[dict[str, Any]]:
    reported = {frame["name"]: frame for frame in outcome.frames if frame["event"] == "test"}
    unrun = {"outcome": "missing", "seconds": 0.0, "trace": "", "exception": ""}
    return [unrun | reported.get(name, {}) | {"name": name} for name in item.expected_tests]


def _tampering(item: WorkItem, outcome: Outcome) -> list[str]:
    """Every breach of the protocol of the report, each named once."""
    found = list(outcome.violations)
    found += [frame["what"] for frame in outcome.frames if frame["event"] == "tampering"]
    names = [frame["name"] for frame in outcome.frames if frame["event"] == "test"]
    found += [f"test {name} reported more than once" for name in names if names.count(name) > 1]
    found += [f"test {name} is not in the task" for name in names if name not in item.expected_tests]
    loaded = _frame(outcome, "loaded")
    if loaded and sorted(loaded["tests"]) != sorted(item.expected_tests):
        found.append("the collected tests are not those of the task")
    if _frame(outcome, "end"):
        if not all(_frame(outcome, event) for event in ("started", "imported", "loaded")):
            found.append("the report lacks a part of what every honest one has")
        if len(set(names)) < len(item.expected_tests) and not _frame(outcome, "class_failed"):
            found.append("the run ended without an outcome for every test")
    for frame in outcome.frames:
        if frame["event"] == "test" and frame["outcome"] in _EVASIONS and not _test_says(item, frame["outcome"]):
            found.append(f"test {frame['name']} ended as {frame['outcome']}, which the task's text does not ask for")
    return list(dict.fromkeys(found))


def _test_says(item: WorkItem, outcome: str) -> bool:
    return ("skip" if outcome == "skip" else "expectedFailure") in item.test


def _test_cpu_seconds(outcome: Outcome) -> float:
    """CPU time between the program's first line and the last frame, or the end where that did not come."""
    if not outcome.frames:
        return 0.0
    began, ended = outcome.frames[0].get("cpu_seconds", 0.0), outcome.frames[-1].get("cpu_seconds", outcome.cpu_seconds)
    return max(0.0, float(ended) - float(began))


def _ended(outcome: Outcome) -> bool:
    return bool(outcome.frames) and outcome.frames[-1]["event"] in LAST_EVENTS


def _frame(outcome: Outcome, event: str) -> dict[str, Any] | None:
    return next((frame for frame in outcome.frames if frame["event"] == event), None)
