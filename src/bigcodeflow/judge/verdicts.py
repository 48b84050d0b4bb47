"""Verdicts of observed executions: status, failure kind, and one outcome for every expected test.

``failure_kind`` is a key of ``failure_kinds.KINDS``. Only a pass has an empty ``failure_kind``.
"""

from collections.abc import Mapping
from typing import Any

from bigcodeflow.core.calibration import AS_TEXT
from bigcodeflow.core.tracebacks import failed_import, raised
from bigcodeflow.judge.failure_kinds import failure_kind
from bigcodeflow.judge.guest.protocol import LAST_EVENTS
from bigcodeflow.judge.host.base import Outcome
from bigcodeflow.judge.host.observation import SIGKILL_EXITS
from bigcodeflow.judge.items import ANY_IMPORT, WorkItem

Verdict = dict[str, Any]
"""Row with those columns of VERDICTS that depend only on the execution, not on the executed sample."""

_TIME_LIMITS = ("wall time", "cpu time")
#: Outcomes that count as tampering unless the task's test text asks for them.
_EVASIONS = ("skip", "expected_failure", "unexpected_success")
#: Failure kinds that decide the status whatever else failed, with that status. Other kinds give status 'fail'.
_STATUSES = {"infrastructure": "infra_error", "memory": "out_of_memory"}


def verdict(item: WorkItem, outcome: Outcome, *, backend: str, environment_sha: str, attempts: int = 1) -> Verdict:
    reported = {frame["name"]: frame for frame in outcome.frames if frame["event"] == "test"}
    unrun = {"outcome": "missing", "seconds": 0.0, "trace": "", "exception": ""}
    tests = [unrun | reported.get(name, {}) | {"name": name} for name in item.expected_tests]
    tampering = _tampering(item, outcome)
    status, kind = _judge(item, outcome, tests, tampering)
    broken = _frame(outcome, "module_failed") or _frame(outcome, "class_failed")
    # CPU time of the tests: from the first frame to the last frame, or to the end if the last has no CPU time.
    first, last = (outcome.frames[0], outcome.frames[-1]) if outcome.frames else ({}, {"cpu_seconds": 0.0})
    test_cpu_seconds = last.get("cpu_seconds", outcome.cpu_seconds) - first.get("cpu_seconds", 0.0)
    return {
        "verdict_key": item.verdict_key,
        "status": status,
        "failure_kind": kind,
        "tests": [{key: test[key] for key in ("name", "outcome", "seconds", "trace")} for test in tests],
        "module_trace": (broken or {}).get("trace", ""),
        "tests_expected": len(item.expected_tests),
        "tests_run": sum(test["outcome"] != "missing" for test in tests),
        "wall_seconds": round(outcome.wall_seconds, 4),
        "cpu_seconds": round(outcome.cpu_seconds, 4),
        "test_cpu_seconds": round(max(0.0, float(test_cpu_seconds)), 4),
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


def pass_share(verdict: Mapping[str, Any]) -> float | None:
    """Return the share of the expected tests that passed, from 0 to 1.

    Return None if the share is unknown: nothing was judged, or the execution was ended at its first failing test.
    Return 0 for a tampered execution, whatever it reported, and for a verdict without expected tests.
    """
    if verdict["status"] == "infra_error" or verdict["exit"] == "killed: tests":
        return None
    if verdict["status"] == "tampered" or not verdict["tests"]:
        return 0.0
    outcomes = [test["outcome"] for test in verdict["tests"]]
    return outcomes.count("pass") / len(outcomes)


def blocked_verdict(item: WorkItem, reason: str, kind: str, *, backend: str, environment_sha: str) -> Verdict:
    """Make the verdict of a sample that must not be executed: status 'fail' and failure kind ``kind``."""
    unrun = lost_verdict(item, reason, backend=backend, environment_sha=environment_sha)
    return unrun | {"status": "fail", "failure_kind": kind, "exit": "not started"}


def lost_verdict(item: WorkItem, reason: str, *, backend: str, environment_sha: str) -> Verdict:
    """Make a verdict with status 'infra_error' for a sample whose worker or sandbox was lost repeatedly."""
    unrun = verdict(item, Outcome(exit=reason), backend=backend, environment_sha=environment_sha)
    return unrun | {"status": "infra_error", "failure_kind": "infrastructure", "module_trace": reason}


def renewed(row: Verdict, item: WorkItem) -> Verdict:
    """Return a stored verdict with the failure kind of current rules, which may also set the status 'infra_error'."""
    traces = [row["module_trace"], *(test["trace"] for test in row["tests"] if test["outcome"] in ("fail", "error"))]
    causes = [{"trace": trace, **raised(trace)._asdict()} for trace in traces if trace]
    if row["status"] != "fail" or not causes or not causes[0]["exception"]:
        return row
    if causes[0]["exception"].startswith("Exception ") and row["failure_kind"] != "exception":
        return row  # a library's class, whose base classes were known during the execution only
    kinds = [_kind(item, cause) for cause in causes]
    if "infrastructure" in kinds:
        return row | {"status": "infra_error", "failure_kind": "infrastructure"}
    return row | {"failure_kind": kinds[0]}


def worth_repeating(outcome: Outcome) -> bool:
    """Return True if the execution may have been ended from outside, so that its outcome decides nothing.

    A SIGKILL that the executor did not send came from the program itself, from the kernel's OOM killer or from another
    process. The program is the cause only if repeated executions end the same way. If a sandbox could not start, the
    backend has already retried, and another round of the stage executes the item again.
    """
    started = _frame(outcome, "started") is not None
    killed_by_stranger = outcome.exit in SIGKILL_EXITS and not outcome.killed_for and not _ended(outcome)
    return killed_by_stranger or not (started or outcome.violations or outcome.killed_for or outcome.not_started)


def _judge(item: WorkItem, outcome: Outcome, tests: list[dict[str, Any]], tampering: list[str]) -> tuple[str, str]:
    if tampering:
        return "tampered", "tampering"
    ended_at_failure = item.fail_fast and outcome.killed_for == "tests"
    if not (_ended(outcome) or ended_at_failure):
        return _judge_end(outcome)
    failed, class_failed = _frame(outcome, "module_failed"), _frame(outcome, "class_failed")
    if failed:
        kind = _kind(item, failed)
        # A NUL byte is a ValueError before Python 3.11.4.
        is_refused = failed["phase"] == "compile" and (kind == "syntax" or "ValueError" in failed["exception"].split())
        # A solution that is loaded as text is compiled by the program.
        is_loaded = failed["phase"] == "program" and item.program.startswith(AS_TEXT)
        is_refused = is_refused or (is_loaded and "SyntaxError" in failed["exception"].split())
        return ("syntax_error", "syntax") if is_refused else (_STATUSES.get(kind, "fail"), kind)
    if not item.expected_tests:
        return "fail", "no_tests"  # without tests nothing can fail, so the run would count as a pass
    if all(test["outcome"] == "pass" for test in tests) and not class_failed:
        return "pass", ""
    causes = [test for test in tests if test["outcome"] in ("fail", "error")]
    kinds = [_kind(item, cause) for cause in ([class_failed] if class_failed else []) + causes]
    skipped = any(test["outcome"] == "skip" for test in tests)
    kinds = kinds or ["no_tests" if skipped else "assertion"]  # a test passed that the task expects to fail
    kind = next((one for one in _STATUSES if one in kinds), kinds[0])
    return _STATUSES.get(kind, "fail"), kind


def _judge_end(outcome: Outcome) -> tuple[str, str]:
    """Return status and failure kind of an execution that did not finish its report."""
    if outcome.killed_for in _TIME_LIMITS:
        return "timeout", "timeout"
    if outcome.killed_for == "memory":
        return "out_of_memory", "memory"
    # A signal killed the sandbox itself, which its program cannot do; after enough tests, the executor sent the signal.
    if _frame(outcome, "started") is None or (outcome.exit.startswith("signal ") and not outcome.killed_for):
        return "infra_error", "infrastructure"
    return "crash", "crash"


def _kind(item: WorkItem, cause: Mapping[str, Any]) -> str:
    trace, exception = cause["trace"], cause["exception"]
    # Never trust the program's exception alone: a faked import error would remove it from the score.
    if not item.missing_imports.isdisjoint((*ANY_IMPORT, failed_import(trace))) and "ImportError" in exception.split():
        return "infrastructure"
    return failure_kind(trace, exception, program=item.program, test=item.test, setup=item.setup_names)


def _tampering(item: WorkItem, outcome: Outcome) -> list[str]:
    """Return descriptions of all breaches of the report protocol, without duplicates."""
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
        asked_by = "skip" if frame.get("outcome") == "skip" else "expectedFailure"
        if frame["event"] == "test" and frame["outcome"] in _EVASIONS and asked_by not in item.test:
            found.append(f"test {frame['name']} ended as {frame['outcome']}, which the task's text does not ask for")
    return list(dict.fromkeys(found))


def _ended(outcome: Outcome) -> bool:
    return bool(outcome.frames) and outcome.frames[-1]["event"] in LAST_EVENTS


def _frame(outcome: Outcome, event: str) -> dict[str, Any] | None:
    return next((frame for frame in outcome.frames if frame["event"] == event), None)
