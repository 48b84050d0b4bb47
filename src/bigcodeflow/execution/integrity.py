"""Whether a pass was earned: passing programs are executed once more, against tests that contradict the task's.

Of each test method an altered text either contradicts one expected value, so that no correct solution passes the
method, or states an expected value that the test computes (a pin), so that every correct solution still does. A program
that does otherwise, while the reference solution does as expected every time, did not pass by solving the task: it is
tampered. Nothing inside a sandbox tells which of its two executions it is.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from bigcodeflow.execution import contradicting
from bigcodeflow.execution.contradicting import AlteredTest
from bigcodeflow.execution.contradictions import Contradictions, Validated, holds
from bigcodeflow.execution.items import WorkItem, numbered

Row = dict[str, Any]
Execute = Callable[[Sequence[WorkItem]], Mapping[str, Row]]
"""Executes items and returns their verdicts by key, as in VERDICTS; what is in the ledger is not executed again."""

CHECKED, TAMPERED, UNCHECKABLE, UNCHECKED = "checked", "tampered", "no contradiction", "not checked"

#: Executions of the reference solution before a contradiction counts.
_REFERENCE_EXECUTIONS = 2
#: Further executions of program and reference solution before an accusation counts.
_CONFIRMATIONS = 2
#: Wall time that the altered methods of one execution may take; those that come later are left out.
_BUDGET_SECONDS = 0.1
_BUDGET_SHARE = 0.25


class Reference(NamedTuple):
    """A task with what executes its own solution."""

    task: Mapping[str, Any]
    """A row of TASKS."""
    item_of: Callable[[str | None, str], WorkItem]
    """The execution of a program, None: the task's own solution, against a test text."""
    stub: str
    """A program that defines the function and does nothing."""


class Pass(NamedTuple):
    """An execution that passed, to be checked."""

    item: WorkItem
    reference: Reference


class Finding(NamedTuple):
    """What a check came to."""

    integrity: str
    """CHECKED, TAMPERED, UNCHECKABLE or UNCHECKED."""
    key: str | None = None
    tampering: tuple[str, ...] = ()
    """Which contradictions it passed, in words."""


class Coverage(NamedTuple):
    """How much of a task's test can be contradicted."""

    task_id: str
    tests: int
    contradicted: int
    """Test methods of which at least one contradiction holds."""
    reason: str
    """Why there is none at all; empty where there is one."""


@dataclass(slots=True)
class _Variant:
    """One altered text of a task's test."""

    reference: Reference
    number: int
    altered: AlteredTest
    item: WorkItem
    """The execution of the reference solution against it."""
    validated: Validated | None = None

    @property
    def alterations(self) -> tuple[Mapping[str, Any], ...]:
        """Those that hold, as in ALTERATION."""
        return self.validated.alterations if self.validated else ()


class _Check(NamedTuple):
    """A program against the altered text that is meant for it."""

    passed: Pass
    variant: _Variant
    item: WorkItem


def check_passes(
    passes: Sequence[Pass],
    known: Contradictions,
    execute: Execute,
    earlier: Mapping[str, Finding] = MappingProxyType({}),
) -> dict[str, Finding]:
    """What the check of each passing execution came to, by its verdict key.

    Args:
        passes: distinct executions that passed.
        known: what is known of altered tests; extended and written.
        execute: executes what has to be.
        earlier: findings that former runs came to, by the key of the check's execution.
    """
    checks = _planned(passes, known, execute)
    todo = [check for check in checks if check.item.verdict_key not in earlier and check.variant.alterations]
    verdicts = execute([_bounded(check) for check in todo])
    suspects = [check for check in todo if _offences(check, verdicts[check.item.verdict_key])]
    confirmed = _confirmed(suspects, execute)
    findings = {}
    for check in checks:
        key = check.item.verdict_key
        if not check.variant.alterations:
            finding = Finding(UNCHECKABLE if check.variant.validated else UNCHECKED)
        elif key in earlier:
            finding = earlier[key]
        elif verdicts[key]["status"] == "infra_error":
            finding = Finding(UNCHECKED)
        else:
            offences = confirmed.get(key, ())
            finding = Finding(TAMPERED if offences else CHECKED, key, offences)
        findings[check.passed.item.verdict_key] = finding
    return findings


def coverage(references: Iterable[Reference], known: Contradictions, execute: Execute) -> list[Coverage]:
    """How much of each task's test can be contradicted, by the reference solutions in every variant.

    Args:
        references: of tasks whose own solution passes.
        known: what is known of altered tests; extended and written.
        execute: executes what has to be.
    """
    references = list(references)
    pins = _recorded(references, known, execute)
    numbers = range(contradicting.VARIANTS)
    variants = [_variant(reference, number, pins) for reference in references for number in numbers]
    _validate(variants, known, execute)
    found = []
    for reference in references:
        mine = [variant for variant in variants if variant.reference is reference]
        valid = {one["test"] for variant in mine for one in variant.alterations if one["kind"] == "contradiction"}
        tried = any(variant.altered.alterations for variant in mine)
        reason = "the reference solution passes them too" if tried else "no assertion can be contradicted"
        found.append(
            Coverage(
                reference.task["task_id"], len(reference.task["expected_tests"]), len(valid), "" if valid else reason
            )
        )
    return found


def findings_of(rows: Iterable[Row]) -> dict[str, Finding]:
    """What stored verdicts tell of checks that came to an end, by the key of the check's execution."""
    found = {}
    for row in rows:
        if row["integrity_key"]:
            tampering = tuple(row["tampering"]) if row["integrity"] == TAMPERED else ()
            found[row["integrity_key"]] = Finding(row["integrity"], row["integrity_key"], tampering)
    return found


def unchecked(row: Row) -> Row:
    """A stored verdict as it was before its check."""
    if row["integrity"] == TAMPERED:
        row = row | {"status": "pass", "failure_kind": "", "tampering": []}
    return row | {"integrity": None, "integrity_key": None}


def applied(verdicts: Mapping[str, Row], findings: Mapping[str, Finding]) -> dict[str, Row]:
    """The verdicts with what their checks came to, by key."""
    found = dict(verdicts)
    for key, finding in findings.items():
        found[key] = found[key] | {"integrity": finding.integrity, "integrity_key": finding.key}
        if finding.integrity == TAMPERED:
            accused = {"status": "tampered", "failure_kind": "tampering", "tampering": list(finding.tampering)}
            found[key] |= accused
    return found


def _recorded(references: Iterable[Reference], known: Contradictions, execute: Execute) -> dict[str, dict[str, str]]:
    """Expected values that tests compute, by task: recorded under a program that does nothing."""
    pins: dict[str, dict[str, str]] = {}
    items: dict[str, tuple[str, WorkItem]] = {}
    for reference in references:
        task = reference.task
        text = contradicting.recording_text(task["test"], task["entry_point"])
        item = reference.item_of(reference.stub, text) if text is not None else None
        found = known.recorded(item.verdict_key) if item else {}
        pins[task["task_id"]] = found or {}
        if item and found is None:
            items[item.verdict_key] = (task["task_id"], item)
    for key, verdict in execute([item for _, item in items.values()]).items():
        task_id = items[key][0]
        pins[task_id] = {} if verdict["stdout_truncated"] else contradicting.read_recording(verdict["stdout"])
        if verdict["status"] != "infra_error":
            known.add_recorded(key, task_id, pins[task_id])
    known.write()
    return pins


def _planned(passes: Sequence[Pass], known: Contradictions, execute: Execute) -> list[_Check]:
    references = {one.reference.task["task_id"]: one.reference for one in passes}
    pins = _recorded(references.values(), known, execute)
    meant = [(one.reference.task["task_id"], _number(one.item)) for one in passes]
    variants = {(task_id, number): _variant(references[task_id], number, pins) for task_id, number in set(meant)}
    _validate(variants.values(), known, execute)
    return [
        _Check(one, variants[which], one.reference.item_of(one.item.program, variants[which].altered.text))
        for one, which in zip(passes, meant, strict=True)
    ]


def _number(item: WorkItem) -> int:
    """Variant that a program meets: by its content, so that it is the same one in every run."""
    digest = hashlib.sha256(item.program.encode("utf-8", "surrogatepass")).digest()
    variant: int = int.from_bytes(digest, "big") % contradicting.VARIANTS
    return variant


def _variant(reference: Reference, number: int, pins: Mapping[str, Mapping[str, str]]) -> _Variant:
    task = reference.task
    altered = contradicting.contradict(task["test"], task["entry_point"], variant=number, pins=pins[task["task_id"]])
    return _Variant(reference, number, altered, reference.item_of(None, altered.text))


def _validate(variants: Iterable[_Variant], known: Contradictions, execute: Execute) -> None:
    """Find out, where it is not known, which alterations hold for the reference solution in every execution."""
    variants = list(variants)
    for variant in variants:
        if not variant.altered.alterations:
            variant.validated = Validated((), ())
    open_ones = {
        variant.item.verdict_key: variant
        for variant in variants
        if not variant.validated and known.validated(variant.item.verdict_key) is None
    }
    items = {key: _repeated(variant.item, _REFERENCE_EXECUTIONS) for key, variant in open_ones.items()}
    verdicts = execute([item for several in items.values() for item in several])
    for key, variant in open_ones.items():
        found = [verdicts[item.verdict_key] for item in items[key]]
        if all(verdict["status"] != "infra_error" for verdict in found):
            known.add_validated(key, variant.reference.task["task_id"], variant.number, variant.altered, found)
    known.write()
    for variant in variants:
        variant.validated = variant.validated or known.validated(variant.item.verdict_key)


def _bounded(check: _Check) -> WorkItem:
    """The check's execution, ended when it has taken its share of time and at least one alteration was decided."""
    decided = {one["test"] for one in check.variant.alterations}
    expected = check.variant.validated.seconds if check.variant.validated else ()
    budget = max(_BUDGET_SECONDS, _BUDGET_SHARE * check.passed.item.expected_seconds)
    spent, found = 0.0, False
    for number, (test, seconds) in enumerate(zip(check.item.expected_tests, expected, strict=False), start=1):
        spent, found = spent + seconds, found or test in decided
        if found and spent > budget:
            return replace(check.item, stop_after=number)
    return check.item


def _confirmed(suspects: Sequence[_Check], execute: Execute) -> dict[str, tuple[str, ...]]:
    """What stays of each suspicion when program and reference solution are executed again, by the check's key."""
    again = {check.item.verdict_key: _repeated(check.item, _CONFIRMATIONS) for check in suspects}
    once_more = {
        check.item.verdict_key: _repeated(check.variant.item, _REFERENCE_EXECUTIONS + _CONFIRMATIONS)
        for check in suspects
    }
    verdicts = execute([item for several in (*again.values(), *once_more.values()) for item in several])
    confirmed = {}
    for check in suspects:
        key = check.item.verdict_key
        references = [_tests(verdicts[item.verdict_key]) for item in once_more[key]]
        offences = list(check.variant.alterations)
        for execution in again[key]:
            offences = [one for one in offences if one in _offences(check, verdicts[execution.verdict_key])]
        offences = [one for one in offences if all(holds(one, tests) for tests in references)]
        confirmed[key] = tuple(map(_in_words, offences))
    return confirmed


def _offences(check: _Check, verdict: Row) -> list[Mapping[str, Any]]:
    """Alterations that the program was not stopped by, or stopped at, as no correct solution is."""
    tests = _tests(verdict)
    reported = {name for name, test in tests.items() if test["outcome"] != "missing"}
    return [one for one in check.variant.alterations if one["test"] in reported and not holds(one, tests)]


def _tests(verdict: Row) -> dict[str, Mapping[str, Any]]:
    return {test["name"]: test for test in verdict["tests"]}


def _repeated(item: WorkItem, times: int) -> list[WorkItem]:
    return [numbered(item, number) for number in range(times)]


def _in_words(one: Mapping[str, Any]) -> str:
    place = f"{one['test']}, line {one['line']} of the test"
    if one["kind"] == "pin":
        return f"{place}: fails with {one['after']}, which is the value of {one['before']} without the program"
    return f"{place}: passes with {one['after']} in place of {one['before']}, as no correct solution does"
