"""Check if passes were earned: execute passing programs again, with altered tests, and in a process without the test.

An altered test has false methods, which no correct solution passes, and true methods, which every correct solution
passes; they are chosen at random for each altered text. In a further execution, program and test run in separate
processes. An offence is an outcome that no correct solution gives. A program that repeatedly shows offences, while the
reference solution does not, is tampered: it did not pass by solving the task. docs/sandbox.md has the whole table.
"""

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from bigcodeflow.judge.integrity import contradictions
from bigcodeflow.judge.integrity.contradictions import Contradictions, Execute, Reference, Row, Steps, Variant
from bigcodeflow.judge.integrity.mixtures import Mixture, Pairs, look_alikes, mixtures, separate_mixture, texts_needed
from bigcodeflow.judge.integrity.offences import in_words, offences
from bigcodeflow.judge.items import WorkItem, numbered, separated

CHECKED, TAMPERED, UNCHECKABLE, UNCHECKED = "checked", "tampered", "no contradiction", "not checked"

#: Bump when the same executions lead to another result.
_VERSION = 3
#: Further checks of a suspected program, each with other texts, and how many of them must show an offence.
_ROUNDS = 3
_OFFENDING_ROUNDS = 2
#: Highest probability that a program guesses all false methods in a check, and in a round that confirms a suspicion.
_GUESS_PROBABILITY, _GUESS_PROBABILITY_IN_ROUND = 0.005, 0.001
#: Kinds of offences that show what a failed method has left behind.
_LEFT_BEHIND = ("restatement", "end")
#: Factor of a sample's time limit in its checks: a program that keeps the limit in its test keeps it here too.
_MORE_TIME = 2
#: Time limit of an execution that begins before its sample has ended: this many times its expected time, and seconds.
_EARLY_TIMES, _EARLY_SECONDS = 1.5, 10.0


class Pass(NamedTuple):
    """Execution that passed and has to be checked for tampering, and the task with its reference solution."""

    item: WorkItem
    reference: Reference


class CheckResult(NamedTuple):
    """Result of a check: CHECKED, TAMPERED, UNCHECKABLE or UNCHECKED, and the evidence of tampering in words."""

    integrity: str
    key: str | None = None
    """Key by which later runs look up the result; None if later runs have to check again."""
    tampering: tuple[str, ...] = ()
    instead: Row | None = None
    """Failed verdict of another execution against the task's own test; it replaces the suspicious pass."""


class _Check(NamedTuple):
    """Execution of a passing program against an altered text, and of the reference solution against the same text."""

    item: WorkItem
    reference: WorkItem
    alterations: tuple[Mapping[str, Any], ...]
    """Alterations in the altered text, with the columns of ALTERATION."""

    def offences(self, verdict: Row) -> list[Mapping[str, Any]]:
        """Return the offences: alterations whose test method had an outcome that no correct solution gives."""
        return offences(self.alterations, verdict)


class _Plan(NamedTuple):
    passed: Pass
    pairs: Pairs
    separated: Variant
    """Variant whose text runs in a process apart from the program."""

    @property
    def key(self) -> str:
        """Hash that identifies the check; the random choice of false (contradicted) test methods has no influence."""
        keys = [one.item.verdict_key for one in self.variants]
        keys += [] if self.passed.reference.is_checked_whole else ["drawn"]
        return hashlib.sha256(" ".join([str(_VERSION), self.passed.item.verdict_key, *keys]).encode()).hexdigest()

    @property
    def variants(self) -> list[Variant]:
        return [*(one for pair in self.pairs for one in pair), self.separated]

    def checks(self, chance: random.Random, turn: int = 0) -> list[_Check]:
        """Return the executions of one check, with new random texts; ``turn`` numbers the confirming rounds from 1."""
        seconds = sum(self.pairs[0][1].seconds or ())
        fitting = math.floor(self.passed.reference.budget_seconds / max(seconds, 1e-3))
        probability = _GUESS_PROBABILITY_IN_ROUND if turn else _GUESS_PROBABILITY
        texts = mixtures(self.pairs, texts_needed(self.pairs, fitting, probability), chance)
        found = [self._check(text, f"{turn}/{number}") for number, text in enumerate(texts)]
        if text := separate_mixture(self.separated, chance):
            found.append(self._check(text, f"{turn}/{len(texts)}", is_separate=True))
        return found

    def look_alikes(self, chance: random.Random) -> list[_Check]:
        """Return executions that show if offences are only side effects of false methods that rightly failed."""
        texts = look_alikes(self.pairs, chance)
        return [self._check(text, f"alike/{number}") for number, text in enumerate(texts)]

    def _check(self, text: Mixture, number: str, *, is_separate: bool = False) -> _Check:
        """Return the executions of program and reference solution against a text; ``number`` makes the keys unique."""

        def item_of(program: str | None) -> WorkItem:
            item = self.passed.reference.item_of(program, text.text)
            item = numbered(separated(item) if is_separate else item, number)
            seconds = self.passed.reference.seconds_of(text.tests) if text.tests else item.expected_seconds
            item = replace(item, expected_tests=text.tests or item.expected_tests, expected_seconds=seconds)
            return replace(item, time_seconds=_MORE_TIME * item.time_seconds, from_memory=True)

        return _Check(item_of(self.passed.item.program), item_of(None), text.alterations)


def _plan(passed: Pass, variants: Mapping[int, Variant]) -> _Plan:
    pairs = tuple((variants[2 * form], variants[2 * form + 1]) for form in range(contradictions.FORMS))
    return _Plan(passed, pairs, variants[contradictions.SEPARATED])


class Checks:
    """Checks of passes in steps: `take` returns items to execute, `receive` takes verdicts, ``results`` keeps results.

    A check needs altered texts of the task's test, which are validated first unless they are in ``known``.
    """

    def __init__(
        self,
        known: Contradictions,
        earlier: Mapping[str, CheckResult] = MappingProxyType({}),
        on_result: Callable[[str, CheckResult], None] = lambda *_: None,
    ) -> None:
        """Start no check yet.

        Args:
            known: validated altered texts; newly validated texts are added.
            earlier: results of earlier checks by the check's key; the caller may add results during the checks.
            on_result: is called with the verdict key of each checked pass and the result of its check.
        """
        self.results: dict[str, CheckResult] = {}
        """Results by the verdict keys of the passes."""
        self._on_result = on_result
        self._known, self._earlier = known, earlier
        self._chance = random.SystemRandom()  # decides which methods are false; no program predicts it
        self._variants: dict[str, dict[int, Variant]] = {}
        self._without_texts: dict[str, list[Pass]] = {}
        self._items: list[WorkItem] = []
        self._open: dict[str, list[_Running]] = {}
        self._ended: dict[str, Row] = {}  # verdicts of early and of interrupted executions, for checks that ask later
        self._early: dict[str, WorkItem] = {}  # items of checks by the key of their early execution, while it runs
        self._seeds: dict[str, int] = {}  # of the checks that began early, by the sample's key

    def put(self, passed: Pass) -> None:
        task_id = passed.reference.task["task_id"]
        if task_id in self._variants:
            self._advance(_Running(self._checking(passed)))
        elif task_id in self._without_texts:
            self._without_texts[task_id].append(passed)
        else:
            self._without_texts[task_id] = [passed]
            self._advance(_Running(self._validating(passed.reference)))

    def begin_early(self, passed: Pass) -> None:
        """Queue executions for the check of a running sample, in case it passes; do nothing without validated texts.

        The check itself begins after the pass and uses verdicts of these executions. It draws the same random texts,
        unless the ground truth took another time than expected; the check itself executes the texts that differ.
        """
        variants = contradictions.expected_variants(passed.reference, passed.item.expected_seconds, self._known)
        if not variants:
            return
        seed = self._seeds[passed.item.verdict_key] = self._chance.getrandbits(256)
        plan = _plan(passed._replace(reference=variants[0].reference), variants)
        for item in (check.item for check in plan.checks(random.Random(seed))):  # noqa: S311 -- the seed is secret
            limit = min(item.time_seconds, _EARLY_TIMES * item.expected_seconds + _EARLY_SECONDS)
            early = replace(numbered(item, "early"), time_seconds=limit)
            self._early[early.verdict_key] = item
            self._items.append(early)

    def take(self) -> list[WorkItem]:
        """Return the items to execute that no earlier call returned."""
        items, self._items = self._items, []
        return items

    def receive(self, verdict: Row) -> None:
        """Continue the checks that wait for this verdict."""
        key, item = verdict["verdict_key"], self._early.pop(verdict["verdict_key"], None)
        if item:
            key = item.verdict_key
            if verdict["status"] == "infra_error" or verdict["exit"].startswith("killed"):  # its limit is tighter
                self._items += [item] if key in self._open else []
                return
            verdict = verdict | {"verdict_key": key}
        if item or verdict["status"] == "infra_error":  # others may ask for the same execution, which is not repeated
            self._ended[key] = verdict
        for running in self._open.pop(key, ()):
            running.missing.remove(key)
            running.verdicts[key] = verdict
            if not running.missing:
                self._advance(running, running.verdicts)

    def _advance(self, running: "_Running", verdicts: Mapping[str, Row] | None = None) -> None:
        """Continue ``running`` with ``verdicts`` until it has to wait for a missing verdict, or ends."""
        while True:
            try:
                items = running.steps.send(verdicts) if verdicts is not None else next(running.steps)
            except StopIteration:
                return
            keys = {item.verdict_key for item in items}
            running.verdicts = verdicts = {key: self._ended[key] for key in keys & self._ended.keys()}
            running.missing = keys - verdicts.keys()
            begun = {*self._open, *(item.verdict_key for item in self._early.values())}
            self._items += [item for item in items if item.verdict_key in running.missing - begun]
            for key in running.missing:
                self._open.setdefault(key, []).append(running)
            if running.missing:
                return

    def _validating(self, reference: Reference) -> Steps[None]:
        task_id = reference.task["task_id"]
        wanted = [(reference, number) for number in contradictions.ALL_VARIANTS]
        variants = yield from contradictions.validation(wanted, self._known)
        self._variants[task_id] = {number: variant for (_, number), variant in variants.items()}
        for passed in self._without_texts.pop(task_id):
            self._advance(_Running(self._checking(passed)))

    def _checking(self, passed: Pass) -> Steps[None]:
        key, plan = passed.item.verdict_key, _plan(passed, self._variants[passed.reference.task["task_id"]])
        first = random.Random(self._seeds[key]) if key in self._seeds else self._chance  # noqa: S311 -- as above
        earlier = self._earlier.get(plan.key)
        result = earlier or (yield from _checked(plan, plan.checks(first), self._chance))
        self.results[key] = result
        self._on_result(key, result)


@dataclass(eq=False)
class _Running:
    """Check or validation in progress: its steps, and the current step's missing verdict keys and received verdicts."""

    steps: Steps[None]
    missing: set[str] = field(default_factory=set)
    verdicts: dict[str, Row] = field(default_factory=dict)


def check_passes(passes: Iterable[Pass], known: Contradictions, execute: Execute) -> dict[str, CheckResult]:
    """Check passing executions; return the result of each check by the verdict key of the execution."""
    checks = Checks(known)
    for passed in passes:
        checks.put(passed)
    while items := checks.take():
        for verdict in execute(items).values():
            checks.receive(verdict)
    known.write()
    return checks.results


def undetected(
    references: Iterable[Reference], known: Contradictions, execute: Execute
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return (task id, alteration) for each contradiction that a reference solution did not fail in every execution."""
    wanted = [(reference, number) for reference in references for number in range(0, 2 * contradictions.FORMS, 2)]
    variants = contradictions.validated_variants(wanted, known, execute)
    return [
        (task_id, one)
        for (task_id, _), variant in variants.items()
        for one in known.by_key.get(variant.item.verdict_key, {}).get("alterations", ())
        if one["kind"] == "contradiction" and not one["valid"]
    ]


def findings_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, CheckResult]:
    """Return the results of finished checks, by check key, from stored verdicts."""
    found = {}
    for row in rows:
        if row["integrity_key"]:
            tampering = tuple(row["tampering"]) if row["integrity"] == TAMPERED else ()
            found[row["integrity_key"]] = CheckResult(row["integrity"], row["integrity_key"], tampering)
    return found


def unchecked(row: Row) -> Row:
    """Return a stored verdict as it was before the check of its pass."""
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


def _checked(plan: _Plan, checks: Sequence[_Check], chance: random.Random) -> Steps[CheckResult]:
    """Check a pass; if the program does what no correct program does (an offence), check it again with new texts."""
    verdicts = (yield [check.item for check in checks]) if checks else {}
    if any(one.offences(verdicts[one.item.verdict_key]) for one in checks):
        result = yield from _confirmed(plan, chance)
        if result:
            return result
    # The machine interrupted an execution, or one that validates the texts.
    is_open = any(verdicts[one.item.verdict_key]["status"] == "infra_error" for one in checks)
    if is_open or any(one.seconds is None for one in plan.variants):
        return CheckResult(UNCHECKED)
    return CheckResult(CHECKED, plan.key) if checks else CheckResult(UNCHECKABLE)


def _confirmed(plan: _Plan, chance: random.Random) -> Steps[CheckResult | None]:
    """Return the result of further checks of a program with an offence; None if they do not confirm the offence."""
    turns = range(1, _ROUNDS + 1)
    rounds = [plan.checks(chance, turn) for turn in turns]
    genuine = [numbered(plan.passed.item, turn) for turn in turns]
    checks = [check for each in rounds for check in each]
    items = [item for check in checks for item in (check.item, check.reference)]
    verdicts = yield [*items, *genuine]
    ends = [verdicts[item.verdict_key] for item in genuine]
    result = _decision([[one for check in each for one in _proven(check, verdicts)] for each in rounds], ends)
    if result and any(one["kind"] in _LEFT_BEHIND for check in checks for one in _proven(check, verdicts)):
        own = [[one for check in each for one in _own(check, verdicts)] for each in rounds]
        if not _decision(own, ends) and (alike := plan.look_alikes(chance)):
            items = [item for check in alike for item in (check.item, check.reference)]
            verdicts = yield items
            result = result if any(_own(check, verdicts) for check in alike) else None
    # The machine interrupted an execution of the program or of the reference solution.
    if result is None and any(verdicts[item.verdict_key]["status"] == "infra_error" for item in items):
        return CheckResult(UNCHECKED)
    return result._replace(key=plan.key) if result else None


def _proven(check: _Check, verdicts: Mapping[str, Row]) -> list[Mapping[str, Any]]:
    """Return the program's offences, except in test methods where the reference solution has an offence too."""
    shared = [one["test"] for one in check.offences(verdicts[check.reference.verdict_key])]
    if verdicts[check.reference.verdict_key]["status"] == "infra_error":
        return []
    return [one for one in check.offences(verdicts[check.item.verdict_key]) if one["test"] not in shared]


def _own(check: _Check, verdicts: Mapping[str, Row]) -> list[Mapping[str, Any]]:
    """Return the proven offences that cannot be a side effect of a false method that failed, as it should.

    A method that fails skips its last lines, which may close figures or delete files. Open figures and left files
    may change the outcome of the next method: a true method then fails, or a false method passes.
    """
    offences = _proven(check, verdicts)
    false = {one["test"] for one in check.alterations if one["kind"] == "contradiction"}
    if not false - {one["test"] for one in offences}:
        return offences
    return [one for one in offences if one["kind"] == "separate"]


def _decision(rounds: Sequence[Sequence[Mapping[str, Any]]], genuine: Sequence[Row]) -> CheckResult | None:
    """Return the result for a program with an offence (table: docs/sandbox.md), or None if its pass stays valid.

    ``rounds`` holds the offences of each round, ``genuine`` the verdicts against the task's own test.
    """
    offending = [offences for offences in rounds if offences]
    passed_false = [offences for offences in rounds if any(one["kind"] == "contradiction" for one in offences)]
    failed = [verdict for verdict in genuine if verdict["status"] not in ("pass", "infra_error")]
    words = tuple(dict.fromkeys(in_words(one) for offences in rounds for one in offences))
    if len(passed_false) >= _OFFENDING_ROUNDS:
        return CheckResult(TAMPERED, tampering=words)
    if len(offending) < _OFFENDING_ROUNDS:
        return None
    if failed:  # it differs from one execution to the next: the failure counts, and accuses it of nothing
        return CheckResult(CHECKED, instead=failed[0])
    return CheckResult(TAMPERED, tampering=words) if len(offending) == len(rounds) else None
