"""Whether a pass was earned: passing programs are executed again, against altered tests and apart from the test.

Of each test method an altered text either contradicts one expected value, so that no correct solution passes the
method, or states an expected value that the test computes (a pin), so that every correct solution still does. A
separated execution gives program and test a process each: a correct solution passes there too. A program that does
otherwise, while the reference solution does as expected every time, did not pass by solving the task: it is tampered.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from bigcodeflow.core.tracebacks import raised
from bigcodeflow.execution import integrity
from bigcodeflow.execution.integrity import AlteredTest
from bigcodeflow.execution.integrity.contradictions import RECORDED, Contradictions, Made, Validated, holds
from bigcodeflow.execution.integrity.separating import separated_test
from bigcodeflow.execution.integrity.unusual import is_unusual
from bigcodeflow.execution.items import WorkItem, numbered, separated

Row = dict[str, Any]
Execute = Callable[[Sequence[WorkItem]], Mapping[str, Row]]
"""Executes items and returns their verdicts by key, as in VERDICTS; what is in the ledger is not executed again."""

CHECKED, TAMPERED, UNCHECKABLE, UNCHECKED = "checked", "tampered", "no contradiction", "not checked"

#: Executions of the reference solution before a contradiction counts.
_REFERENCE_EXECUTIONS = 2
#: Further executions of program and reference solution before an accusation counts.
_CONFIRMATIONS = 3
#: Wall time that the altered methods of one execution may take; those that come later are left out.
_BUDGET_SECONDS = 0.05
_BUDGET_SHARE = 0.25
#: Number of the variant in which program and test have a process each.
_SEPARATED = integrity.VARIANTS
#: In a trace: what passes between program and test is no plain data.
_UNTRANSFERABLE = "separate.UntransferableError"
#: Exceptions, or bases of them, that a program may raise in a process of its own only.
_SURROUNDINGS = frozenset({"NameError", "ImportError", "OSError", "MemoryError", "RecursionError"})


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
    instead: Row | None = None
    """The verdict of another execution against the task's own test: it failed, and the pass is under suspicion."""


class Coverage(NamedTuple):
    """How much of a task's test can be contradicted."""

    task_id: str
    tests: int
    contradicted: int
    """Test methods of which at least one contradiction holds."""
    separated: int
    """Test methods that the task's own solution passes from a process of its own."""
    reason: str
    """Why there is no contradiction at all; empty where there is one."""


@dataclass
class _Variant:
    """One altered text of a task's test."""

    reference: Reference
    number: int
    source: str
    altered: AlteredTest
    validated: Validated | None = None

    def item_of(self, program: str | None) -> WorkItem:
        """The execution of a program against it, None: the task's own solution."""
        item = self.reference.item_of(program, self.altered.text)
        return separated(item) if self.number == _SEPARATED else item

    @cached_property
    def item(self) -> WorkItem:
        """The execution of the task's own solution against it."""
        return self.item_of(None)

    @property
    def alterations(self) -> tuple[Mapping[str, Any], ...]:
        """Those that hold, as in ALTERATION."""
        return self.validated.alterations if self.validated else ()

    @property
    def decides(self) -> bool:
        """Whether a program that did not solve the task may be found out by it."""
        return any(one["kind"] != "control" for one in self.alterations)


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
        earlier: findings that former runs came to, by the key of the check.
    """
    planned = _planned(passes, known, execute)
    keys = {name: _check_key(checks) for name, checks in planned.items()}
    todo = {
        name: [one for one in checks if one.variant.decides and keys[name] not in earlier]
        for name, checks in planned.items()
    }
    verdicts = execute([_bounded(check) for checks in todo.values() for check in checks])
    suspects = {
        name: [check for check in checks if _offences(check, verdicts[check.item.verdict_key])]
        for name, checks in todo.items()
    }
    confirmed = _confirmed(suspects, execute)
    findings = {}
    for name, checks in planned.items():
        if keys[name] in earlier:
            findings[name] = earlier[keys[name]]
        elif name in confirmed:
            findings[name] = confirmed[name]._replace(key=keys[name])
        elif any(_is_open(check, verdicts) for check in checks):
            findings[name] = Finding(UNCHECKED)
        else:
            findings[name] = Finding(CHECKED, keys[name]) if todo[name] else Finding(UNCHECKABLE)
    return findings


def _check_key(checks: Sequence[_Check]) -> str:
    """Identity of a check: of all its executions."""
    return hashlib.sha256(" ".join(check.item.verdict_key for check in checks).encode()).hexdigest()


def _is_open(check: _Check, verdicts: Mapping[str, Row]) -> bool:
    """Whether the machine kept an execution from its end, of the program or of the reference solution."""
    if not check.variant.decides:
        return check.variant.validated is None
    return bool(verdicts[check.item.verdict_key]["status"] == "infra_error")


def coverage(references: Iterable[Reference], known: Contradictions, execute: Execute) -> list[Coverage]:
    """How much of each task's test can be contradicted, by the reference solutions in every variant.

    Args:
        references: of tasks whose own solution passes.
        known: what is known of altered tests; extended and written.
        execute: executes what has to be.
    """
    references = list(references)
    pins = _recorded(references, known, execute)
    numbers = (*range(integrity.VARIANTS), _SEPARATED)
    variants = [_variant(reference, number, pins, known) for reference in references for number in numbers]
    _validate(variants, known, execute)
    found = []
    for reference in references:
        mine = [variant for variant in variants if variant.reference is reference]
        held = {(one["kind"], one["test"]) for variant in mine for one in variant.alterations}
        counts = Counter(kind for kind, _ in held)
        tried = any(variant.altered.alterations for variant in mine if variant.number != _SEPARATED)
        reason = "the reference solution passes them too" if tried else "no assertion can be contradicted"
        if counts["contradiction"]:
            reason = ""
        task_id, tests = reference.task["task_id"], len(reference.task["expected_tests"])
        found.append(Coverage(task_id, tests, counts["contradiction"], counts["separate"], reason))
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
        if finding.instead:
            found[key] = finding.instead | {"verdict_key": key}
            continue
        found[key] = found[key] | {"integrity": finding.integrity, "integrity_key": finding.key}
        if finding.integrity == TAMPERED:
            accused = {"status": "tampered", "failure_kind": "tampering", "tampering": list(finding.tampering)}
            found[key] |= accused
    return found


def _recorded(references: Iterable[Reference], known: Contradictions, execute: Execute) -> dict[str, dict[str, str]]:
    """Expected values that tests compute, by task: recorded under a program that does nothing."""
    pins: dict[str, dict[str, str]] = {}
    items: dict[str, tuple[Made, WorkItem]] = {}
    for reference in references:
        task = reference.task
        source = _source(task, RECORDED, {})
        text = known.text(source)
        if text is None:
            text = integrity.recording_text(task["test"], task["entry_point"]) or ""
        made = Made(task["task_id"], RECORDED, source, text)
        item = reference.item_of(reference.stub, text) if text else None
        found = known.recorded(item.verdict_key if item else source)
        pins[task["task_id"]] = found or {}
        if found is None and item is None:
            known.add_recorded(source, made, {})
        elif found is None and item:
            items[item.verdict_key] = (made, item)
    for key, verdict in execute([item for _, item in items.values()]).items():
        made = items[key][0]
        pins[made.task_id] = {} if verdict["stdout_truncated"] else integrity.read_recording(verdict["stdout"])
        if verdict["status"] != "infra_error":
            known.add_recorded(key, made, pins[made.task_id])
    known.write()
    return pins


def _planned(passes: Sequence[Pass], known: Contradictions, execute: Execute) -> dict[str, list[_Check]]:
    """The executions that check each pass, by its verdict key."""
    references = {one.reference.task["task_id"]: one.reference for one in passes}
    pins = _recorded(references.values(), known, execute)
    meant = {one.item.verdict_key: _numbers(one.item.program) for one in passes}
    wanted = {(one.reference.task["task_id"], number) for one in passes for number in meant[one.item.verdict_key]}
    variants = {
        (task_id, number): _variant(references[task_id], number, pins, known) for task_id, number in sorted(wanted)
    }
    _validate(variants.values(), known, execute)
    planned = {}
    for one in passes:
        task_id = one.reference.task["task_id"]
        mine = [variants[task_id, number] for number in meant[one.item.verdict_key]]
        items = [variant.item_of(one.item.program) for variant in mine]
        planned[one.item.verdict_key] = [_Check(one, *pair) for pair in zip(mine, items, strict=True)]
    return planned


def _numbers(program: str) -> Sequence[int]:
    """Variants that a program meets: one by its content; an unusual program all, and the separated one."""
    if is_unusual(program):
        return (*range(integrity.VARIANTS), _SEPARATED)
    digest = hashlib.sha256(program.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest, "big") % integrity.VARIANTS,)


def _variant(
    reference: Reference, number: int, pins: Mapping[str, Mapping[str, str]], known: Contradictions
) -> _Variant:
    task = reference.task
    test, entry_point = task["test"], task["entry_point"]
    solution = reference.item_of(None, test).program if number == _SEPARATED else ""
    source = _source(task, number, pins[task["task_id"]], solution)
    altered = known.altered(source)
    if altered is None and number == _SEPARATED:
        altered = separated_test(solution, test, entry_point)
    elif altered is None:
        altered = integrity.contradict(test, entry_point, variant=number, pins=pins[task["task_id"]])
    return _Variant(reference, number, source, altered)


def _source(task: Mapping[str, Any], number: int, pins: Mapping[str, str], solution: str = "") -> str:
    """Identity of what a text is made of."""
    parts = [integrity.VERSION, task["test"], task["entry_point"], number, sorted(pins.items()), solution]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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
            made = Made(variant.reference.task["task_id"], variant.number, variant.source, variant.altered.text)
            known.add_validated(key, made, variant.altered, found)
    known.write()
    for variant in variants:
        variant.validated = variant.validated or known.validated(variant.item.verdict_key)


def _bounded(check: _Check) -> WorkItem:
    """The check's execution, ended before the test that overruns its share of time, once an alteration was decided."""
    decided = {one["test"] for one in check.variant.alterations if one["kind"] != "control"}
    expected = check.variant.validated.seconds if check.variant.validated else ()
    budget = max(_BUDGET_SECONDS, _BUDGET_SHARE * check.passed.item.expected_seconds)
    spent, found = 0.0, False
    for number, (test, seconds) in enumerate(zip(check.item.expected_tests, expected, strict=False)):
        spent += seconds
        if found and spent > budget:
            return replace(check.item, stop_after=number)
        found = found or test in decided
    return check.item


def _confirmed(suspects: Mapping[str, Sequence[_Check]], execute: Execute) -> dict[str, Finding]:
    """What stays of suspicions when everything they rest on is executed again, by the passing execution's key.

    Args:
        suspects: executions that found something, by the same key; one after the other is tried until one stands.
        execute: executes what has to be.
    """
    confirmed: dict[str, Finding] = {}
    for turn in range(max(map(len, suspects.values()), default=0)):
        tried = {name: checks[turn] for name, checks in suspects.items() if name not in confirmed and checks[turn:]}
        items = {name: _experiments(check) for name, check in tried.items()}
        verdicts = execute([item for one in items.values() for several in one for item in several])
        for name, check in tried.items():
            finding = _confirmation(check, [[verdicts[one.verdict_key] for one in several] for several in items[name]])
            if finding:
                confirmed[name] = finding
    return confirmed


def _confirmation(check: _Check, executed: Sequence[Sequence[Row]]) -> Finding | None:
    """What the program did each time as no correct one does; None: nothing.

    Args:
        check: what aroused the suspicion.
        executed: verdicts of the four groups of ``_experiments``.
    """
    again, reference, genuine, copied = executed
    offences = list(check.variant.alterations)
    for verdict in again:
        offences = [one for one in offences if one in _offences(check, verdict)]
    offences = [one for one in offences if all(holds(one, _tests(verdict)) for verdict in reference)]
    offences = [one for one in offences if one["kind"] != "pin" or all(_passes(one, verdict) for verdict in copied)]
    if any(verdict["status"] != "pass" for verdict in genuine):
        # What it does differs from one execution to the next: that it failed here accuses it of nothing.
        failed = [verdict for verdict in genuine if verdict["status"] not in ("pass", "infra_error")]
        instead = failed[0] if failed and offences else None
        offences = [one for one in offences if all(_passes(one, verdict) for verdict in again)]
        if instead and not offences:
            return Finding(CHECKED, instead=instead)
    return Finding(TAMPERED, tampering=tuple(map(_in_words, offences))) if offences else None


def _experiments(check: _Check) -> tuple[list[WorkItem], ...]:
    """What a suspicion has to stand.

    Program and reference against the altered text, the program against the task's own test, and
    of both against that test with copies of what it passes.

    A correct program may change what it is given, and the test then expects the changed value: against the copies it
    fails. It is not to be accused of the same with a recorded value.
    """
    reference, program = check.passed.reference, check.passed.item.program
    text = integrity.copying_text(reference.task["test"], reference.task["entry_point"])
    return (
        _repeated(check.item, _CONFIRMATIONS),
        _repeated(check.variant.item, _REFERENCE_EXECUTIONS + _CONFIRMATIONS),
        _repeated(check.passed.item, _CONFIRMATIONS),
        [reference.item_of(program, text), reference.item_of(None, text)],
    )


def _offences(check: _Check, verdict: Row) -> list[Mapping[str, Any]]:
    """Alterations with which the program did what no correct solution does."""
    tests = _tests(verdict)
    # What was ended from outside, at a limit or because enough was seen, tells nothing of the tests that did not run.
    cut = verdict["exit"].startswith("killed") or verdict["status"] == "infra_error"
    ran = [one for one in check.variant.alterations if not cut or tests[one["test"]]["outcome"] != "missing"]
    return [one for one in ran if not holds(one, tests) and not _is_undecided(one, verdict)]


def _is_undecided(one: Mapping[str, Any], verdict: Row) -> bool:
    """Whether a failure tells nothing: a call did not pass, or the program misses what is around the test."""
    if one["kind"] != "separate":
        return False
    test = _tests(verdict)[one["test"]]
    told = verdict["module_trace"]  # of a fixture of the class too
    if test["outcome"] == "missing" and verdict["exit"] == "exit 0" and (not told or _UNTRANSFERABLE in told):
        return True
    return bool(_SURROUNDINGS & set(raised(test["trace"] or told).exception.split()))


def _passes(one: Mapping[str, Any], verdict: Row) -> bool:
    return bool(_tests(verdict)[one["test"]]["outcome"] == "pass")


def _tests(verdict: Row) -> dict[str, Mapping[str, Any]]:
    return {test["name"]: test for test in verdict["tests"]}


def _repeated(item: WorkItem, times: int) -> list[WorkItem]:
    return [numbered(item, number) for number in range(times)]


def _in_words(one: Mapping[str, Any]) -> str:
    place = f"{one['test']}, line {one['line']} of the test"
    return {
        "contradiction": f"{place}: no failure with {one['after']} in place of {one['before']}",
        "pin": f"{place}: fails with {one['after']}, the value of {one['before']} without the program",
        "control": f"{one['test']}: fails, unaltered, where other tests are altered",
        "separate": f"{one['test']}: fails where program and test have a process each",
    }[one["kind"]]
