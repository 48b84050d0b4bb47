"""Altered texts of tasks' tests, validated by executions of the reference solution.

The key of a row of the CONTRADICTIONS schema is a hash of everything that its execution depends on, so that every run
in the same environment can use the row.
"""

import ast
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from bigcodeflow.core import untrusted_text
from bigcodeflow.judge.failure_kinds import bound_by
from bigcodeflow.judge.guest import protocol
from bigcodeflow.judge.integrity import altered_tests, recorded_operands
from bigcodeflow.judge.integrity.altered_tests import Alteration, AlteredTest
from bigcodeflow.judge.integrity.syntax import assertions_in, key_of, test_methods, tree_of
from bigcodeflow.judge.items import WorkItem, numbered, separated

#: Number of pairs of texts per test: a false text contradicts each method, the true text restates it.
FORMS = 2
#: Variant number of the rows with recorded values.
RECORDED = -1
#: Number of the variant in which program and test have one process each.
SEPARATED = 2 * FORMS
#: Variants whose alterations are validated.
ALL_VARIANTS = (*range(2 * FORMS), SEPARATED)
#: Executions of the reference solution before a contradiction counts.
REFERENCE_EXECUTIONS = 2
#: Wall time of the tests in one altered text: the larger of these seconds and this share of the time of all tests.
_BUDGET_SECONDS, BUDGET_SHARE, _LEAST_TESTS = 2.0, 0.25, 2
#: Wall time of the tests of one validating execution: slower tests have valid alterations of their first methods only.
_VALIDATION_SECONDS = 20.0
#: Names of test doubles, interpreter settings and attributes of functions, which may differ between the processes.
_APART = frozenset(
    """patch Mock MagicMock AsyncMock NonCallableMock PropertyMock create_autospec mock_open setattr delattr
    localcontext getcontext simplefilter filterwarnings catch_warnings umask tzset lockf flock dup2 redirect_stderr
    reload stderr stdin setrecursionlimit inspect signature __dict__ __globals__ __code__""".split()  # noqa: SIM905 -- as a list it takes a screen
)

T = TypeVar("T")
Row = dict[str, Any]
Execute = Callable[[Sequence[WorkItem]], Mapping[str, Row]]
"""Function that executes items and returns their verdicts by key, as in VERDICTS; it may reuse known verdicts."""
Steps = Generator[list[WorkItem], Mapping[str, Row], T]
"""Generator for work in steps: it yields items to execute, receives their verdicts by key, and returns a result."""


def completed(steps: Steps[T], execute: Execute) -> T:
    try:
        items = next(steps)
        while True:
            items = steps.send(execute(items))
    except StopIteration as end:
        result: T = end.value
        return result


class Contradictions:
    """Validated altered texts for one environment, as rows of CONTRADICTIONS; new rows are added after validation."""

    @cached_property
    def rows(self) -> dict[str, Row]:
        """Known rows by ``source``, the hash of the data from which a row's text was made."""
        return {}

    @cached_property
    def by_key(self) -> dict[str, Row]:
        """Known rows by the verdict key of their execution."""
        return {row["verdict_key"]: row for row in self.rows.values()}

    def add(self, row: Row) -> None:
        self.rows[row["source"]] = self.by_key[row["verdict_key"]] = row

    def write(self) -> None:
        """Store the added rows for later runs; this base class keeps rows only in memory, so it stores nothing."""


def holds(alteration: Mapping[str, Any], tests: Mapping[str, Mapping[str, Any]]) -> bool:
    """Tell if the altered test method had the outcome of a correct solution; ``tests`` holds results by method name."""
    outcome = tests.get(alteration["test"], {}).get("outcome")
    return outcome in ("fail", "error") if alteration["kind"] == "contradiction" else outcome == "pass"


class Reference(NamedTuple):
    """Task with its reference solution, and a function that makes items to execute for the task."""

    task: Mapping[str, Any]
    """A row of TASKS."""
    item_of: Callable[[str | None, str], WorkItem]
    """Function that makes the item for a program (None: the reference solution) and a test text."""
    stub: str
    """Program that defines the task's function with a body that does nothing."""
    seconds: Sequence[float] = ()
    """Wall seconds of each expected test with the reference solution, in order; empty if they are unknown."""

    @property
    def budget_seconds(self) -> float:
        """Most wall seconds that the tests in one altered text may take."""
        return max(_BUDGET_SECONDS, BUDGET_SHARE * sum(self.seconds))

    @property
    def is_checked_whole(self) -> bool:
        """True if all tests together take at most ``budget_seconds``, so that each altered text holds all tests."""
        return sum(self.seconds) <= self.budget_seconds

    def seconds_of(self, tests: Iterable[str]) -> float:
        seconds: Mapping[str, float] = dict(zip(self.task["expected_tests"], self.seconds, strict=False))
        return sum(seconds.get(test, 0.0) for test in tests)

    def drawn(self, groups: Sequence[frozenset[str]], chance: random.Random) -> list[frozenset[str]]:
        """Return the sets of tests for one altered text: all ``groups``, or some random groups if all take too long."""
        if self.is_checked_whole:
            return list(groups)
        found: list[frozenset[str]] = []
        spent_seconds = 0.0
        for group in chance.sample(groups, len(groups)):
            spent_seconds += self.seconds_of(group)
            if spent_seconds > self.budget_seconds and len(found) >= _LEAST_TESTS:
                break
            found.append(group)
        return found

    @property
    def stop_after(self) -> int:
        """Number of tests that the reference solution runs to validate an altered text; 0 means all tests."""
        for number, spent in enumerate(accumulate(self.seconds)):
            if spent > _VALIDATION_SECONDS and number >= _LEAST_TESTS:
                return number
        return 0


class Coverage(NamedTuple):
    """Counts of a task's test methods: all, those with a contradiction, those that can run apart from the program."""

    task_id: str
    tests: int
    contradicted: int
    """Number of methods with at least one valid contradiction."""
    separated: int
    """Number of methods that the reference solution passes in a process apart from the test."""
    reason: str
    """Reason why no method can be contradicted; empty if at least one method can."""


@dataclass
class Variant:
    """Altered text of a task's test; ``source`` is the hash of the data from which the text was made.

    The altered texts form pairs, numbered by ``form`` from 0. ``number`` is 2 * form for the false text of a pair (with
    contradictions), 2 * form + 1 for its true text (with restatements), and SEPARATED for the text that runs in a
    process apart from the program.
    """

    reference: Reference
    number: int
    source: str
    altered: AlteredTest
    alterations: tuple[Mapping[str, Any], ...] = ()
    """Valid alterations, with the columns of ALTERATION."""
    seconds: Sequence[float] | None = None
    """Wall seconds of each executed test with the reference solution, in order; None before the validation."""

    def item_of(self, program: str | None) -> WorkItem:
        """Return the item that executes ``program`` (None: the reference solution) against this text."""
        item = replace(self.reference.item_of(program, self.altered.text), stop_after=self.reference.stop_after)
        return separated(item) if self.number == SEPARATED else item

    @cached_property
    def item(self) -> WorkItem:
        """Item that executes the reference solution against this text."""
        return self.item_of(None)

    def row(self, verdicts: Iterable[Row]) -> Row:
        """Return a row of CONTRADICTIONS; ``verdicts`` on the reference solution decide which alterations are valid."""
        executions = [{test["name"]: test for test in verdict["tests"]} for verdict in verdicts]
        entries: list[Row] = [one._asdict() for one in self.altered.alterations]
        return _row(self.item.verdict_key, self.reference, self.number, self.source, self.altered.text) | {
            "alterations": [one | {"valid": all(holds(one, tests) for tests in executions)} for one in entries],
            "seconds": [test["seconds"] for test in executions[0].values() if test["outcome"] != "missing"],
        }


def validated_variants(
    wanted: Iterable[tuple[Reference, int]], known: Contradictions, execute: Execute
) -> dict[tuple[str, int], Variant]:
    """Return variants by (task_id, number), with alterations that each execution of the reference solution confirmed.

    Variants that ``known`` lacks are executed for validation, and then written to ``known``.
    """
    variants = completed(validation(list(wanted), known), execute)
    known.write()
    return variants


def coverage(references: Iterable[Reference], known: Contradictions, execute: Execute) -> list[Coverage]:
    """Count for each task the test methods that can be contradicted, or can call the program in a separate process.

    The reference solution is executed against every variant of altered text that ``known`` lacks.
    """
    references = list(references)
    pairs = [(reference, number) for reference in references for number in ALL_VARIANTS]
    variants = validated_variants(pairs, known, execute)
    found = []
    for reference in references:
        task_id, tests = reference.task["task_id"], len(reference.task["expected_tests"])
        mine = [variants[task_id, number] for number in ALL_VARIANTS]
        counts = Counter(kind for kind, _ in {(one["kind"], one["test"]) for each in mine for one in each.alterations})
        tried = any(variant.altered.alterations for variant in mine if variant.number != SEPARATED)
        reason = "the reference solution passes the contradictions too" if tried else "no assertion can be contradicted"
        reason = "" if counts["contradiction"] else reason
        found.append(Coverage(task_id, tests, counts["contradiction"], counts["separate"], reason))
    return found


def expected_variants(reference: Reference, total_seconds: float, known: Contradictions) -> dict[int, Variant]:
    """Return the validated variants of a task by number, or {} if some are not validated yet.

    If the times of the ground truth are unknown, the times of the validation are used. Tests that the validation left
    out share the rest of ``total_seconds`` equally.
    """
    try:
        next(validation([(reference, number) for number in ALL_VARIANTS], known))
    except StopIteration as end:
        found = {number: variant for (_, number), variant in end.value.items()}
    else:
        return {}
    if not reference.seconds:
        first = list(found[1].seconds or ())
        others = len(reference.task["expected_tests"]) - len(first)
        share = max(0.0, total_seconds - sum(first)) / max(1, others)
        for variant in found.values():
            variant.reference = reference._replace(seconds=first + [share] * others)
    return found


def validation(wanted: Sequence[tuple[Reference, int]], known: Contradictions) -> Steps[dict[tuple[str, int], Variant]]:
    """Validate ``wanted`` variants: yield items, receive their verdicts, and return variants by (task_id, number)."""
    pins = yield from _recorded_pins({reference.task["task_id"]: reference for reference, _ in wanted}, known)
    variants = {
        (reference.task["task_id"], number): _variant(reference, number, pins[reference.task["task_id"]], known)
        for reference, number in wanted
    }
    altered = {one.item.verdict_key: one for one in variants.values() if one.altered.alterations}
    items = {
        key: [numbered(one.item, number) for number in range(REFERENCE_EXECUTIONS)]
        for key, one in altered.items()
        if key not in known.by_key
    }
    verdicts = (yield [item for several in items.values() for item in several]) if items else {}
    for key, several in items.items():
        found = [verdicts[item.verdict_key] for item in several]
        if all(verdict["status"] != "infra_error" for verdict in found):
            known.add(altered[key].row(found))
    for key, variant in altered.items():
        if variant.source not in known.rows and key in known.by_key:  # an earlier version made the same text
            known.add(known.by_key[key] | {"source": variant.source})
    for variant in variants.values():
        empty: Row | None = None if variant.altered.alterations else {"alterations": (), "seconds": ()}
        row = empty or known.by_key.get(variant.item.verdict_key)
        if row:
            variant.alterations = tuple(one for one in row["alterations"] if one["valid"])
            variant.seconds = row["seconds"]
    return variants


def _recorded_pins(references: Mapping[str, Reference], known: Contradictions) -> Steps[dict[str, dict[str, str]]]:
    """Return by task_id the expected values that the tests compute, recorded with a program that does nothing.

    For each task, 'line:column' of an operand in the test text maps to the operand's value as source.
    """
    pins: dict[str, dict[str, str]] = {task_id: {} for task_id in references}
    keys: dict[str, str] = {}  # by task: tasks with equal tests share an execution
    items: dict[str, tuple[Row, WorkItem]] = {}
    for task_id, reference in references.items():
        task, source = reference.task, _identity(reference.task, RECORDED, {})
        row = known.rows.get(source)
        text = recorded_operands.recording_text(task["test"], task["entry_point"]) if row is None else row["text"]
        item = reference.item_of(reference.stub, text) if text else None
        key = item.verdict_key if item else source
        made = _row(key, reference, RECORDED, source, text)
        if key in known.by_key:
            pins[task_id] = json.loads(known.by_key[key]["pins"])
            if row is None:
                known.add(known.by_key[key] | {"source": source})
        elif item:
            keys[task_id], items[key] = key, (made, item)
        else:
            known.add(made | {"pins": "{}"})
    verdicts = (yield [item for _, item in items.values()]) if items else {}
    for key, (made, _) in items.items():
        verdict = verdicts[key]
        found = {} if verdict["stdout_truncated"] else recorded_operands.read_recording(verdict["stdout"])
        pins |= {task_id: found for task_id, wanted in keys.items() if wanted == key}
        if verdict["status"] != "infra_error":
            known.add(made | {"pins": json.dumps(found)})
    return pins


def _row(key: str, reference: Reference, number: int, source: str, text: str) -> Row:
    made = {"verdict_key": key, "task_id": reference.task["task_id"], "variant": number, "source": source, "text": text}
    return made | {"pins": "", "alterations": [], "seconds": []}


def _variant(reference: Reference, number: int, pins: Mapping[str, str], known: Contradictions) -> Variant:
    test, entry_point = reference.task["test"], reference.task["entry_point"]
    solution = reference.item_of(None, test).program if number == SEPARATED else ""
    source = _identity(reference.task, number, pins, solution)
    row = known.rows.get(source)
    if row:
        made = (Alteration(**{name: one[name] for name in Alteration._fields}) for one in row["alterations"])
        altered = AlteredTest(row["text"], tuple(made))
    elif number == SEPARATED:
        altered = separated_test(solution, test, entry_point)
    else:
        kind: Any = "restatement" if number % 2 else "contradiction"
        altered = altered_tests.disguise(test, entry_point, kind, variant=number // 2, pins=pins)
    return Variant(reference, number, source, altered)


def _identity(task: Mapping[str, Any], number: int, pins: Mapping[str, str], solution: str = "") -> str:
    parts = [altered_tests.VERSION, task["test"], task["entry_point"], number, sorted(pins.items()), solution]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _undecided(solution: str, test: str, entry_point: str, imports: str = "") -> AlteredTest:
    binding = f"{entry_point} = {protocol.SEPARATED}({entry_point!r}, {entry_point}, {imports!r})"
    return AlteredTest(f"{solution}\n\n{binding}\n{test}", ())


@untrusted_text.with_fallback(_undecided)
def separated_test(solution: str, test: str, entry_point: str) -> AlteredTest:
    """Return a test text that calls the program in another process, and the test methods that a correct program passes.

    The test's process executes the reference solution to define the names that the test uses; calls of the task's
    function go to the program's process. A method is left out if it may behave differently in two processes: if it
    replaces parts of modules, changes settings of the interpreter, or reads names that the solution defines.
    """
    module, own = tree_of(test), tree_of(solution)
    if module is None or own is None:
        return _undecided(solution, test, entry_point)
    imports = [ast.unparse(node) for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    text = _undecided(solution, test, entry_point, "\n".join(imports)).text
    methods = [one for one in test_methods(module) if isinstance(one, ast.FunctionDef)]
    # Names that the solution's top-level statements bind, except by imports.
    defined = bound_by(node for node in own.body if not isinstance(node, ast.Import | ast.ImportFrom))
    defined -= {entry_point} | bound_by(module.body)
    inside = {id(part) for method in methods for part in ast.walk(method)}
    apart = defined | _APART
    if any(_is_apart(part, apart, entry_point) for part in ast.walk(module) if id(part) not in inside):
        return AlteredTest(text, ())
    # Methods with an assertion, or a call of a helper that may hold an assertion, that mean the same in both processes.
    names = set()
    for method in methods:
        nodes = list(ast.walk(method))
        calls_own = any(isinstance(node, ast.Call) and key_of(node.func).startswith("self.") for node in nodes)
        if (assertions_in(nodes) or calls_own) and not any(_is_apart(node, apart, entry_point) for node in nodes):
            names.add(method.name)
    return AlteredTest(text, tuple(Alteration(name, 0, "separate", "", "") for name in sorted(names)))


def _is_apart(node: ast.AST, names: frozenset[str], entry_point: str) -> bool:
    """Tell if a node may behave differently in the test's process and in the program's process."""
    match node:
        case ast.Name(id=name) | ast.alias(name=name):
            return name in names
        case ast.Attribute(attr=name) if name in _APART or name.startswith(("register_", "set_int_max")):
            return True
        case ast.Attribute(value=value, attr="path"):
            return ast.unparse(value) == "sys"
        case ast.Attribute(value=value, attr=name, ctx=ast.Store()):
            return ast.unparse(value) not in ("self", "cls") and (ast.unparse(value), name) != ("sys", "stdout")
        case (
            ast.Attribute(value=ast.Name(id=name))
            | ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[ast.Name(id=name), *_])
        ):
            return name == entry_point
    return False
