"""What an observed execution means: status, failure kind, and one outcome for every expected test.

failure_kind is one of ``failure_kinds.KINDS``; empty for a pass, and only for a pass. Several executions separate flaky
from broken: a sample that does not pass is executed as often again as ``execution.reruns`` asks, and the majority
decides; one pass among its confirmations acquits a ground truth. An infra_error is no execution at all.
"""

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bigcodeflow.core.tracebacks import failed_import, raised
from bigcodeflow.execution.backends.base import Outcome
from bigcodeflow.execution.backends.observation import SIGKILL_EXITS
from bigcodeflow.execution.failure_kinds import failure_kind
from bigcodeflow.execution.items import ANY_IMPORT, WorkItem
from bigcodeflow.sandbox.protocol import LAST_EVENTS
from bigcodeflow.store.files import AppendLog, log_records

Verdict = dict[str, Any]
"""Columns of VERDICTS that do not depend on whose sample it was."""

_TIME_LIMITS = ("wall time", "cpu time")
#: Outcomes that an honest test never has, because the tests read statically contain none of them.
_EVASIONS = ("skip", "expected_failure", "unexpected_success")
#: First digits of a key that name the ledger's folder for it: 256 folders at most.
_SHARD_DIGITS = 2
#: Kinds that decide a sample whatever else failed, with their statuses; every other kind is a fail.
_STATUSES = {"infrastructure": "infra_error", "memory": "out_of_memory"}


def verdict(item: WorkItem, outcome: Outcome, *, backend: str, environment_sha: str, attempts: int = 1) -> Verdict:
    """The verdict of one execution."""
    reported = {frame["name"]: frame for frame in outcome.frames if frame["event"] == "test"}
    unrun = {"outcome": "missing", "seconds": 0.0, "trace": "", "exception": ""}
    tests = [unrun | reported.get(name, {}) | {"name": name} for name in item.expected_tests]
    tampering = _tampering(item, outcome)
    status, kind = _judge(item, outcome, tests, tampering)
    broken = _frame(outcome, "module_failed") or _frame(outcome, "class_failed")
    # CPU time of the tests: between the program's first line and the last frame, or the end where that did not come.
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
    """The share of a verdict's expected tests that passed, from 0 to 1.

    None where it is not known: nothing was judged, or the execution was ended at its first failing test. Who tampered
    passed nothing, whatever was reported.
    """
    if verdict["status"] == "infra_error" or verdict["exit"] == "killed: tests":
        return None
    if verdict["status"] == "tampered" or not verdict["tests"]:
        return 0.0
    outcomes = [test["outcome"] for test in verdict["tests"]]
    return outcomes.count("pass") / len(outcomes)


def blocked_verdict(item: WorkItem, reason: str, kind: str, *, backend: str, environment_sha: str) -> Verdict:
    """Make the verdict of a sample that is not executed: it fails for the given kind of reason."""
    unrun = lost_verdict(item, reason, backend=backend, environment_sha=environment_sha)
    return unrun | {"status": "fail", "failure_kind": kind, "exit": "not started"}


def lost_verdict(item: WorkItem, reason: str, *, backend: str, environment_sha: str) -> Verdict:
    """The verdict of a sample whose worker or sandbox was lost again and again: never the model's failure."""
    unrun = verdict(item, Outcome(exit=reason), backend=backend, environment_sha=environment_sha)
    return unrun | {"status": "infra_error", "failure_kind": "infrastructure", "module_trace": reason}


def renewed(row: Verdict, item: WorkItem) -> Verdict:
    """A stored verdict as it is made today: the outcome stands, what it is called may have changed since."""
    traces = [row["module_trace"], *(test["trace"] for test in row["tests"] if test["outcome"] in ("fail", "error"))]
    causes = [{"trace": trace, **raised(trace)._asdict()} for trace in traces if trace]
    if row["status"] != "fail" or not causes or not causes[0]["exception"]:
        return row
    if causes[0]["exception"].startswith("Exception ") and row["failure_kind"] != "exception":
        return row  # a library's class, whose bases only the execution showed
    kinds = [_kind(item, cause) for cause in causes]
    if "infrastructure" in kinds:
        return row | {"status": "infra_error", "failure_kind": "infrastructure"}
    return row | {"failure_kind": kinds[0]}


def worth_repeating(outcome: Outcome) -> bool:
    """Whether the execution may have been ended from outside, so that its outcome says nothing yet.

    A SIGKILL that the executor did not send came from the program itself, from the kernel's memory killer or from
    somebody else. Only an execution that ends that way again was ended by its program. What could not be started has
    been tried again by the backend, and is executed in another round of the stage.
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
        return ("syntax_error", "syntax") if is_refused else (_STATUSES.get(kind, "fail"), kind)
    if not item.expected_tests:
        return "fail", "no_tests"  # an empty run would pass by having failed nothing
    if all(test["outcome"] == "pass" for test in tests) and not class_failed:
        return "pass", ""
    causes = [test for test in tests if test["outcome"] in ("fail", "error")]
    kinds = [_kind(item, cause) for cause in ([class_failed] if class_failed else []) + causes]
    skipped = any(test["outcome"] == "skip" for test in tests)
    kinds = kinds or ["no_tests" if skipped else "assertion"]  # one passed that the task wants to fail
    kind = next((one for one in _STATUSES if one in kinds), kinds[0])
    return _STATUSES.get(kind, "fail"), kind


def _judge_end(outcome: Outcome) -> tuple[str, str]:
    """What the end of a sandbox means that did not finish its report."""
    if outcome.killed_for in _TIME_LIMITS:
        return "timeout", "timeout"
    if outcome.killed_for == "memory":
        return "out_of_memory", "memory"
    # A signal killed the sandbox itself, which its program cannot do.
    if _frame(outcome, "started") is None or outcome.exit.startswith("signal "):
        return "infra_error", "infrastructure"
    return "crash", "crash"


def _kind(item: WorkItem, cause: Mapping[str, Any]) -> str:
    trace, exception = cause["trace"], cause["exception"]
    # Never by what the program says alone: it could raise itself out of its score.
    if not item.missing_imports.isdisjoint((*ANY_IMPORT, failed_import(trace))) and "ImportError" in exception.split():
        return "infrastructure"
    return failure_kind(trace, exception, program=item.program, test=item.test, setup=item.setup_names)


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
        asked_by = "skip" if frame.get("outcome") == "skip" else "expectedFailure"
        if frame["event"] == "test" and frame["outcome"] in _EVASIONS and asked_by not in item.test:
            found.append(f"test {frame['name']} ended as {frame['outcome']}, which the task's text does not ask for")
    return list(dict.fromkeys(found))


def _ended(outcome: Outcome) -> bool:
    return bool(outcome.frames) and outcome.frames[-1]["event"] in LAST_EVENTS


def _frame(outcome: Outcome, event: str) -> dict[str, Any] | None:
    return next((frame for frame in outcome.frames if frame["event"] == event), None)


#: Further executions of a ground truth that fails, before the failure counts.
CONFIRMATIONS = 2
_ACCUSATIONS = ("fail", "crash")
#: Statuses that executing again cannot change: a text either compiles or does not.
_CERTAIN = ("pass", "syntax_error")


@dataclass(frozen=True, slots=True)
class RerunPolicy:
    """Who is executed again; the same for all items of a stage."""

    reruns: int = 0
    """Further executions of each sample that does not pass."""
    confirms_ground_truths: bool = False
    """The items are ground truths: a failure is confirmed before it counts, and one pass acquits."""
    disputed: frozenset[str] = frozenset()
    """Keys of verdicts that came out differently before; with reruns, these are executed again even when they pass."""

    def wants_another(self, executions: Sequence[Verdict]) -> bool:
        """Whether an item needs one more execution after these."""
        statuses = [execution["status"] for execution in executions]
        if "infra_error" in statuses:
            return False
        if self.confirms_ground_truths:
            return statuses[0] in _ACCUSATIONS and "pass" not in statuses and len(statuses) <= CONFIRMATIONS
        return self._repeats(executions[0]) and len(statuses) <= self.reruns

    def settled(self, executions: Sequence[Verdict]) -> Verdict:
        """The verdict of an item after all of its executions.

        Columns ``flaky`` and ``attempts`` are those of the item; all others are those of the execution that decided.
        """
        attempts = sum(one["attempts"] for one in executions)
        statuses = [one["status"] for one in executions]
        if "infra_error" in statuses:
            return executions[statuses.index("infra_error")] | {"attempts": attempts}
        if len(executions) == 1:
            return executions[0]
        passed = executions[statuses.index("pass") if "pass" in statuses else 0]
        decisive = passed if self.confirms_ground_truths else _majority(executions)
        return decisive | {"flaky": len(set(statuses)) > 1, "attempts": attempts}

    def answers(self, verdict: Verdict) -> bool:
        """Whether a verdict of another run may stand in for executing the item.

        One that reruns found flaky never does: what it says depends on how often that run asked.
        """
        if verdict["status"] == "infra_error" or verdict["verdict_key"] in self.disputed:
            return False
        if self.confirms_ground_truths:
            return verdict["status"] not in _ACCUSATIONS or _agreed(verdict, CONFIRMATIONS)
        if verdict["flaky"]:
            return False
        return not self._repeats(verdict) or _agreed(verdict, self.reruns)

    def settles(self, verdict: Verdict) -> bool:
        """Whether a verdict that this very stage wrote before it was interrupted stands."""
        return verdict["status"] != "infra_error" and (verdict["flaky"] is not None or self.answers(verdict))

    def _repeats(self, first: Verdict) -> bool:
        return self.reruns > 0 and (first["status"] not in _CERTAIN or first["verdict_key"] in self.disputed)


#: Every item is executed once.
ONCE = RerunPolicy()


def disputed_keys(verdicts: Iterable[Verdict]) -> frozenset[str]:
    """Keys under which finished verdicts disagree, within one run or between runs."""
    seen: dict[str, set[Any]] = {}
    for verdict in verdicts:
        if verdict["status"] != "infra_error":
            found = {verdict["status"], "flaky" if verdict["flaky"] else verdict["status"]}
            seen.setdefault(verdict["verdict_key"], set()).update(found)
    return frozenset(key for key, statuses in seen.items() if len(statuses) > 1)


def worth_another_round(verdict: Verdict) -> bool:
    """Whether an infra_error may go away by itself, as a lost worker's does and a missing library's does not."""
    return bool(verdict["status"] == "infra_error" and verdict["exit"] != "exit 0")


def _agreed(verdict: Verdict, reruns: int) -> bool:
    return bool(verdict["flaky"] is False and verdict["attempts"] > reruns)


def _majority(executions: Sequence[Verdict]) -> Verdict:
    """The first execution of the side that won; a tie goes to the first execution, so that luck adds no passes."""
    statuses = [execution["status"] for execution in executions]
    others = [status for status in statuses if status != "pass"]
    if 2 * len(others) == len(statuses):
        return executions[0]
    winner = Counter(others).most_common(1)[0][0] if 2 * len(others) > len(statuses) else "pass"
    return executions[statuses.index(winner)]


class Ledger:
    """Durable verdicts of an unfinished stage: one line a verdict, written by the worker the moment it stands.

    A line that a kill tore in two is dropped; every other line is a finished execution, and is never run again. Lines
    lie in folders by the first digits of their keys, so that one of them is found in a large stage as fast as in a
    small one. Each writer appends to files of its own, so that processes never meet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._writer = folder, uuid.uuid4().hex

    def append(self, verdict: Verdict) -> None:
        """Write one verdict in a single call, so that it is there whole or not at all; threads may share a ledger."""
        # A twin of this run may have published the stage and removed the folder, which is made again then.
        with AppendLog(self._folder / verdict["verdict_key"][:_SHARD_DIGITS] / f"{self._writer}.jsonl") as log:
            log.append(verdict)

    def read(self) -> Iterator[Verdict]:
        """Every whole verdict."""
        for path in sorted(self._folder.glob("*/*.jsonl")):
            yield from log_records(path)

    def find(self, keys: Collection[str], *, own: bool = True) -> Iterator[Verdict]:
        """Every whole verdict with one of these keys; ``own`` tells whether also those that this instance wrote."""
        for shard in sorted({*(key[:_SHARD_DIGITS] for key in keys), "restored"}):
            for path in sorted(self._folder.glob(f"{shard}/*.jsonl")):
                if own or path.stem != self._writer:
                    yield from (line for line in log_records(path) if line["verdict_key"] in keys)


def find_in_ledgers(folders: Iterable[Path], keys: Collection[str]) -> Iterator[Verdict]:
    """Whole verdicts with these keys of several unfinished stages; one that is published meanwhile is passed over."""
    for folder in folders:
        with suppress(FileNotFoundError):
            yield from Ledger(folder).find(keys)
