"""Checks of passes: passing programs are executed again, against altered tests and in a process without the test.

An altered text contradicts an expected value of a test method, so that no correct solution passes the method; or it
states an expected value that the test computes (a pin), so that every correct solution still passes. A correct solution
also passes a separated execution, in which program and test have one process each. If a program does otherwise, while
the reference solution does as expected every time, it did not pass by solving the task: it is tampered.
"""

import ast
import builtins
import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from bigcodeflow.core import untrusted_text
from bigcodeflow.core.tracebacks import raised
from bigcodeflow.execution.integrity import contradictions
from bigcodeflow.execution.integrity.altered_tests import VARIANTS, copying_text
from bigcodeflow.execution.integrity.contradictions import SEPARATED, Contradictions, Execute, Reference, Row, Variant
from bigcodeflow.execution.integrity.syntax import tree_of
from bigcodeflow.execution.items import WorkItem, numbered

CHECKED, TAMPERED, UNCHECKABLE, UNCHECKED = "checked", "tampered", "no contradiction", "not checked"

_ALL_VARIANTS = (*range(VARIANTS), SEPARATED)
#: Further executions of program and reference solution before an accusation counts.
_CONFIRMATIONS = 3
#: Time for which passes are collected before they are checked together.
_GATHER_SECONDS = 2.0
#: Wall time that the altered methods of one execution may take; later methods are left out.
_BUDGET_SECONDS = 0.05
_BUDGET_SHARE = 0.25
#: In a trace: data between program and test is no plain data.
_UNTRANSFERABLE = "separate.UntransferableError"
#: Exceptions, or their bases, that a correct program may raise only because it runs in a separate process.
_SURROUNDINGS = frozenset({"NameError", "ImportError", "OSError", "MemoryError", "RecursionError"})
_UNUSUAL_MODULES = frozenset(
    """_ctypes _thread ast atexit bdb builtins code codeop copyreg ctypes dis faulthandler gc importlib inspect marshal
    mmap multiprocessing numba opcode pdb pickle pty runpy signal socket symtable sysconfig threading trace traceback
    types unittest weakref""".split()  # noqa: SIM905 -- as a list it takes a screen
)
_UNUSUAL_NAMES = frozenset(
    """__builtins__ __class__ __code__ __dict__ __globals__ __import__ __subclasses__ _exit _getframe addaudithook
    currentframe delattr eval exec f_back f_globals f_locals fork forkpty getrusage globals locals modules monotonic
    setattr setprofile settrace system times urandom vars""".split()  # noqa: SIM905 -- as above
)
#: Longer programs, in characters, are not parsed and count as unusual.
_MOST_CHARACTERS = 100_000


class Pass(NamedTuple):
    """Passing execution that has to be checked."""

    item: WorkItem
    reference: Reference


class CheckResult(NamedTuple):
    """Result of a check: CHECKED, TAMPERED, UNCHECKABLE or UNCHECKED, and the evidence of tampering in words."""

    integrity: str
    key: str | None = None
    tampering: tuple[str, ...] = ()
    instead: Row | None = None
    """Failed verdict of another execution against the task's own test; it replaces the suspicious pass."""


class Coverage(NamedTuple):
    """Numbers of test methods of a task that can be contradicted or checked separately."""

    task_id: str
    tests: int
    contradicted: int
    """Methods with at least one valid contradiction."""
    separated: int
    """Methods that the task's own solution passes from a separate process."""
    reason: str
    """Reason why there is no contradiction at all; empty if there is at least one."""


class _Check(NamedTuple):
    passed: Pass
    variant: Variant
    item: WorkItem


def check_passes(
    passes: Sequence[Pass],
    known: Contradictions,
    execute: Execute,
    earlier: Mapping[str, CheckResult] = MappingProxyType({}),
) -> dict[str, CheckResult]:
    """Check passing executions; return results by verdict key. ``earlier``: known results by the check's key."""
    planned = _planned(passes, known, execute)
    texts = {name: " ".join(check.item.verdict_key for check in checks) for name, checks in planned.items()}
    keys = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    unknown = {name: checks if keys[name] not in earlier else [] for name, checks in planned.items()}
    todo = {name: [one for one in checks if one.variant.decides] for name, checks in unknown.items()}
    verdicts = execute([_bounded(check) for checks in todo.values() for check in checks])
    suspects = {
        name: [check for check in checks if _offences(check, verdicts[check.item.verdict_key])]
        for name, checks in todo.items()
    }
    confirmed = _confirmed(suspects, execute)
    findings = {}
    for name, checks in planned.items():
        # The infrastructure prevented an execution of the program or of the reference solution.
        is_open = any(verdicts[one.item.verdict_key]["status"] == "infra_error" for one in todo[name])
        is_open |= any(one.variant.seconds is None for one in checks)
        if keys[name] in earlier:
            findings[name] = earlier[keys[name]]
        elif name in confirmed:
            findings[name] = confirmed[name]._replace(key=keys[name])
        elif is_open:
            findings[name] = CheckResult(UNCHECKED)
        else:
            findings[name] = CheckResult(CHECKED, keys[name]) if todo[name] else CheckResult(UNCHECKABLE)
    return findings


class CheckQueue:
    """Queue that checks passes in a separate thread during further executions, in batches of those that arrived.

    Use it as a context manager: at its end everything is checked, unless it ends with an error.
    """

    def __init__(
        self, check: Callable[[Sequence[Pass]], Mapping[str, CheckResult]], stop: Callable[[], None] = lambda: None
    ) -> None:
        """Take the check, and ``stop``, which ends a running check soon; called if the block ends with an error."""
        self._stop = stop
        self._check, self._passes = check, SimpleQueue[Pass | None]()
        self._is_cancelled, self._pool = False, ThreadPoolExecutor(1, "check")
        self.results: dict[str, CheckResult] = {}
        """Results by the verdict keys of the passes."""

    def put(self, passed: Pass) -> None:
        """Add a pass to the queue; raise the error of an earlier check that failed."""
        if self._ended.done():
            self._ended.result()
        self._passes.put(passed)

    def __enter__(self) -> Self:
        # Use the context of this thread, so that warnings reach the log of a run.
        self._ended = self._pool.submit(copy_context().run, self._work)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._is_cancelled = kind is not None
        if kind is not None:
            self._stop()
        self._passes.put(None)
        self._pool.shutdown()
        if kind is None:
            self._ended.result()

    def _work(self) -> None:
        while passes := self._gathered():
            self.results.update(self._check(passes))

    def _gathered(self) -> list[Pass]:
        """Return the waiting passes and those of the next _GATHER_SECONDS; empty at the end."""
        passes: list[Pass] = []
        until = math.inf
        while time.monotonic() < until:
            wait_seconds = None if until == math.inf else max(0.0, until - time.monotonic())
            try:
                passed = self._passes.get(timeout=wait_seconds)
            except Empty:
                break
            if passed is None:
                self._passes.put(None)
                break
            passes.append(passed)
            until = min(until, time.monotonic() + _GATHER_SECONDS)
        return [] if self._is_cancelled else passes


def coverage(references: Iterable[Reference], known: Contradictions, execute: Execute) -> list[Coverage]:
    """Return how much of each task's test can be contradicted, by its reference solution in every variant."""
    references = list(references)
    pairs = [(reference, number) for reference in references for number in _ALL_VARIANTS]
    variants = contradictions.validated_variants(pairs, known, execute)
    found = []
    for reference in references:
        task_id, tests = reference.task["task_id"], len(reference.task["expected_tests"])
        mine = [variants[task_id, number] for number in _ALL_VARIANTS]
        counts = Counter(kind for kind, _ in {(one["kind"], one["test"]) for each in mine for one in each.alterations})
        tried = any(variant.altered.alterations for variant in mine if variant.number != SEPARATED)
        reason = "the reference solution passes them too" if tried else "no assertion can be contradicted"
        reason = "" if counts["contradiction"] else reason
        found.append(Coverage(task_id, tests, counts["contradiction"], counts["separate"], reason))
    return found


def findings_of(rows: Iterable[Row]) -> dict[str, CheckResult]:
    """Read the results of finished checks from stored verdicts, by the key of the check."""
    found = {}
    for row in rows:
        if row["integrity_key"]:
            tampering = tuple(row["tampering"]) if row["integrity"] == TAMPERED else ()
            found[row["integrity_key"]] = CheckResult(row["integrity"], row["integrity_key"], tampering)
    return found


def unchecked(row: Row) -> Row:
    """Return a stored verdict as it was before its check."""
    if row["integrity"] == TAMPERED:
        row = row | {"status": "pass", "failure_kind": "", "tampering": []}
    return row | {"integrity": None, "integrity_key": None}


def applied(verdicts: Mapping[str, Row], findings: Mapping[str, CheckResult]) -> dict[str, Row]:
    """Return the verdicts by key, updated with the results of their checks."""
    found = dict(verdicts)
    for key, finding in findings.items():
        if finding.instead:
            found[key] = finding.instead | {"verdict_key": key}
            continue
        found[key] = found[key] | {"integrity": finding.integrity, "integrity_key": finding.key}
        if finding.integrity == TAMPERED:
            accused = {"status": "tampered", "failure_kind": "tampering", "tampering": list(finding.tampering)}
            found[key] |= accused
    return found


def _planned(passes: Sequence[Pass], known: Contradictions, execute: Execute) -> dict[str, list[_Check]]:
    meant = {one.item.verdict_key: _numbers(one.item.program) for one in passes}
    references = {one.reference.task["task_id"]: one.reference for one in passes}
    wanted = {(one.reference.task["task_id"], number) for one in passes for number in meant[one.item.verdict_key]}
    variants = contradictions.validated_variants(
        [(references[task_id], number) for task_id, number in sorted(wanted)], known, execute
    )
    planned = {}
    for one in passes:
        mine = [variants[one.reference.task["task_id"], number] for number in meant[one.item.verdict_key]]
        planned[one.item.verdict_key] = [_Check(one, variant, variant.item_of(one.item.program)) for variant in mine]
    return planned


def _numbers(program: str) -> Sequence[int]:
    """Choose the variants for a program: one by its hash; for an unusual program all, and the separated variant."""
    if is_unusual(program):
        return _ALL_VARIANTS
    digest = hashlib.sha256(program.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest, "big") % VARIANTS,)


def _bounded(check: _Check) -> WorkItem:
    """Return the check's item; it stops after a deciding test, before the test that exceeds the time budget."""
    decided = {one["test"] for one in check.variant.alterations if one["kind"] != "control"}
    budget = max(_BUDGET_SECONDS, _BUDGET_SHARE * check.passed.item.expected_seconds)
    spent, found = 0.0, False
    for number, (test, seconds) in enumerate(zip(check.item.expected_tests, check.variant.seconds or (), strict=False)):
        spent += seconds
        if found and spent > budget:
            return replace(check.item, stop_after=number)
        found = found or test in decided
    return check.item


def _confirmed(suspects: Mapping[str, Sequence[_Check]], execute: Execute) -> dict[str, CheckResult]:
    """Confirm suspicions by executing everything again; return results by the passing execution's key.

    For each key, the suspicious checks are tried one after the other until a check is confirmed.
    """
    confirmed: dict[str, CheckResult] = {}
    for turn in range(max(map(len, suspects.values()), default=0)):
        tried = {name: checks[turn] for name, checks in suspects.items() if name not in confirmed and checks[turn:]}
        items = {name: _experiments(check) for name, check in tried.items()}
        verdicts = execute([item for one in items.values() for several in one for item in several])
        for name, check in tried.items():
            finding = _confirmation(check, [[verdicts[one.verdict_key] for one in several] for several in items[name]])
            if finding:
                confirmed[name] = finding
    return confirmed


def _experiments(check: _Check) -> tuple[list[WorkItem], ...]:
    """Return items: program and reference with the altered text, program with the test, both with copied arguments.

    A correct program may change its arguments, and the test then expects the changed values: with copies of the
    arguments it fails. Such a program must not be accused when it fails with a recorded value.
    """
    reference, program = check.passed.reference, check.passed.item.program
    text = copying_text(reference.task["test"], reference.task["entry_point"])
    times = range(_CONFIRMATIONS)
    return (
        [numbered(check.item, number) for number in times],
        [
            numbered(check.variant.item, number)
            for number in range(contradictions.REFERENCE_EXECUTIONS + _CONFIRMATIONS)
        ],
        [numbered(check.passed.item, number) for number in times],
        [reference.item_of(program, text), reference.item_of(None, text)],
    )


def _confirmation(check: _Check, executed: Sequence[Sequence[Row]]) -> CheckResult | None:
    """Return the confirmed result by the verdicts of the ``_experiments``; None if nothing is confirmed."""
    again, reference, genuine, copied = executed
    offences = list(check.variant.alterations)
    for verdict in again:
        offences = [one for one in offences if one in _offences(check, verdict)]
    offences = [one for one in offences if all(contradictions.holds(one, _tests(verdict)) for verdict in reference)]
    offences = [one for one in offences if one["kind"] != "pin" or _always_passes(one, copied)]
    if any(verdict["status"] != "pass" for verdict in genuine):
        # The program is not deterministic: its failures with altered texts prove nothing.
        failed = [verdict for verdict in genuine if verdict["status"] not in ("pass", "infra_error")]
        instead = failed[0] if failed and offences else None
        offences = [one for one in offences if _always_passes(one, again)]
        if instead and not offences:
            return CheckResult(CHECKED, instead=instead)
    return CheckResult(TAMPERED, tampering=tuple(map(_in_words, offences))) if offences else None


def _offences(check: _Check, verdict: Row) -> list[Mapping[str, Any]]:
    """Return the alterations with which the program behaved as no correct solution does."""
    tests, trace = _tests(verdict), verdict["module_trace"]  # of a fixture of the class too
    # After a kill, at a limit or because enough was seen, the missing tests prove nothing.
    cut = verdict["exit"].startswith("killed") or verdict["status"] == "infra_error"
    found = []
    for one in check.variant.alterations:
        test = tests[one["test"]]
        is_missing = test["outcome"] == "missing"
        if (cut and is_missing) or contradictions.holds(one, tests):
            continue
        if one["kind"] == "separate":
            # No proof if a call was untransferable, or if the program lacks names or files of the test's process.
            untransferable = is_missing and verdict["exit"] == "exit 0" and (not trace or _UNTRANSFERABLE in trace)
            if untransferable or _SURROUNDINGS & set(raised(test["trace"] or trace).exception.split()):
                continue
        found.append(one)
    return found


def _always_passes(one: Mapping[str, Any], verdicts: Iterable[Row]) -> bool:
    return all(_tests(verdict)[one["test"]]["outcome"] == "pass" for verdict in verdicts)


def _tests(verdict: Row) -> dict[str, Mapping[str, Any]]:
    return {test["name"]: test for test in verdict["tests"]}


def _in_words(one: Mapping[str, Any]) -> str:
    place = f"{one['test']}, line {one['line']} of the test"
    return {
        "contradiction": f"{place}: no failure with {one['after']} in place of {one['before']}",
        "pin": f"{place}: fails with {one['after']}, the value of {one['before']} without the program",
        "control": f"{one['test']}: fails, unaltered, where other tests are altered",
        "separate": f"{one['test']}: fails where program and test have a process each",
    }[one["kind"]]


@untrusted_text.with_fallback(lambda _program: True)
def is_unusual(program: str) -> bool:
    """Tell if a program defines classes, replaces attributes or builtins, or uses internals of the interpreter.

    None of this is forbidden. A program that forges its verdict does some of it; most solutions do none of it.
    """
    module = tree_of(program) if len(program) <= _MOST_CHARACTERS else None
    return module is None or any(_signs(module))


def _signs(module: ast.Module) -> Iterator[bool]:
    for node in ast.walk(module):
        match node:
            case ast.ClassDef() | ast.Global() | ast.Nonlocal():
                yield True
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield hasattr(builtins, name) or name.startswith("__") or bool(node.decorator_list)
            case ast.Import(names=names):
                yield any(alias.name.partition(".")[0] in _UNUSUAL_MODULES for alias in names)
            case ast.ImportFrom(module=source):
                yield (source or "").partition(".")[0] in _UNUSUAL_MODULES
            case ast.Attribute(attr=name, ctx=context):
                yield name in _UNUSUAL_NAMES or not isinstance(context, ast.Load)
            case ast.Name(id=name, ctx=context):
                yield name in _UNUSUAL_NAMES or (not isinstance(context, ast.Load) and hasattr(builtins, name))
