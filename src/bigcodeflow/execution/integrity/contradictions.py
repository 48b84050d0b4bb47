"""Altered texts of tasks' tests, and which of their methods the reference solution fails, and passes.

``{store}/contradictions/{environment_sha}.parquet`` holds it for one environment, as rows of the CONTRADICTIONS schema.
A row is known by the content of the execution that it rests on, so that it serves every run in that environment.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import CONTRADICTIONS, table_of
from bigcodeflow.execution import integrity
from bigcodeflow.execution.integrity import VARIANTS, Alteration, AlteredTest
from bigcodeflow.execution.items import WorkItem, numbered, separated
from bigcodeflow.store import Store, locked

_STAGE = "contradictions"
#: Variant of the rows that hold recorded values.
RECORDED = -1
#: Number of the variant in which program and test have a process each.
SEPARATED = VARIANTS
#: Executions of the reference solution before a contradiction counts.
REFERENCE_EXECUTIONS = 2

Row = dict[str, Any]
Execute = Callable[[Sequence[WorkItem]], Mapping[str, Row]]
"""Executes items and returns their verdicts by key, as in VERDICTS; what is in the ledger is not executed again."""


class Made(NamedTuple):
    """A text that was made of a task's test."""

    task_id: str
    variant: int
    source: str
    """Identity of what it was made of."""
    text: str


class Validated(NamedTuple):
    """An altered test with what the reference solution made of it."""

    alterations: tuple[Mapping[str, Any], ...]
    """Those that hold, as in ALTERATION."""
    seconds: tuple[float, ...]
    """Wall time of each expected test, in their order."""


class Contradictions:
    """The rows of one environment: read once, extended, and written back with what others have added meanwhile."""

    def __init__(self, store: Store | None, environment_sha: str) -> None:
        """Read what is known; without a store, what is found out is kept in this process.

        Raises:
            ArtifactError: the table cannot be read.
        """
        self._store, self._name = store, f"{_STAGE}/{environment_sha}.parquet"
        self._rows = self._read()
        self._by_source = {row["source"]: row for row in self._rows.values()}
        self._new: dict[str, Row] = {}

    def text(self, source: str) -> str | None:
        """The text that records expected values, empty where there are none; None: it is not known."""
        row = self._by_source.get(source)
        return None if row is None else str(row["text"])

    def altered(self, source: str) -> AlteredTest | None:
        """The altered test that was made of a source; None: it is not known."""
        row = self._by_source.get(source)
        if row is None:
            return None
        entries = [one for one in row["alterations"] if one["kind"] != "control"]
        made = (Alteration(**{name: one[name] for name in Alteration._fields}) for one in entries)
        return AlteredTest(row["text"], tuple(made))

    def recorded(self, key: str) -> dict[str, str] | None:
        """Expected values by place in the test text, as an execution recorded them; None: it is not known."""
        row = self._rows.get(key)
        return None if row is None else dict(json.loads(row["pins"]))

    def validated(self, key: str) -> Validated | None:
        """What an execution of the reference solution showed of an altered test; None: it is not known."""
        row = self._rows.get(key)
        if row is None:
            return None
        return Validated(tuple(one for one in row["alterations"] if one["valid"]), tuple(row["seconds"]))

    def add_recorded(self, key: str, made: Made, pins: Mapping[str, str]) -> None:
        """Keep recorded values."""
        self._add(key, made, pins=json.dumps(dict(pins)), alterations=[], seconds=[])

    def add_validated(self, key: str, made: Made, altered: AlteredTest, verdicts: Iterable[Row]) -> None:
        """Keep which alterations hold in every one of several executions of the reference solution."""
        executions = [{test["name"]: test for test in verdict["tests"]} for verdict in verdicts]
        altered_tests = {one.test for one in altered.alterations}
        entries: list[Row] = [one._asdict() for one in altered.alterations]
        if made.variant < VARIANTS:
            unaltered = [name for name in executions[0] if name not in altered_tests]
            entries += [{"test": name, "line": 0, "kind": "control", "before": "", "after": ""} for name in unaltered]
        alterations = [one | {"valid": all(holds(one, tests) for tests in executions)} for one in entries]
        seconds = [test["seconds"] for test in executions[0].values()]
        self._add(key, made, pins="", alterations=alterations, seconds=seconds)

    def write(self) -> None:
        """Put the new rows into the table; two writers on one machine wait for each other, on two the last counts."""
        if self._store is None or not self._new:
            return
        with locked(self._store.root / _STAGE / ".lock"):
            rows = sorted((self._read() | self._new).values(), key=lambda row: (row["task_id"], row["variant"]))
            sink = pa.BufferOutputStream()
            pq.write_table(table_of(rows, schema=CONTRADICTIONS), sink, compression="zstd")
            self._store.write(self._name, sink.getvalue().to_pybytes())
        self._new = {}

    def __iter__(self) -> Iterator[Row]:
        """Every row that is known."""
        return iter(self._rows.values())

    def _add(self, key: str, made: Made, **columns: Any) -> None:
        row = {"verdict_key": key} | made._asdict() | columns
        self._rows[key] = self._new[key] = self._by_source[made.source] = row

    def _read(self) -> dict[str, Row]:
        path = self._store.file(self._name) if self._store else None
        if path is None:
            return {}
        try:
            if pq.read_schema(path).names != CONTRADICTIONS.names:
                return {}  # of another version: it is made again
            return {row["verdict_key"]: row for row in pq.read_table(path, schema=CONTRADICTIONS).to_pylist()}
        except (OSError, pa.ArrowException) as error:
            problem = " ".join(str(error).split())
            raise ArtifactError(
                f"{path}: is no table of contradictions ({problem}): delete it, it is made again"
            ) from error


def holds(alteration: Mapping[str, Any], tests: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an execution did with the altered method what a correct solution does.

    Args:
        alteration: as in ALTERATION.
        tests: results of the execution's tests, as in TEST_RESULT, by name.
    """
    outcome = tests.get(alteration["test"], {}).get("outcome")
    return outcome in ("fail", "error") if alteration["kind"] == "contradiction" else outcome == "pass"


class Reference(NamedTuple):
    """A task with what executes its own solution."""

    task: Mapping[str, Any]
    """A row of TASKS."""
    item_of: Callable[[str | None, str], WorkItem]
    """The execution of a program, None: the task's own solution, against a test text."""
    stub: str
    """A program that defines the function and does nothing."""


@dataclass
class Variant:
    """One altered text of a task's test."""

    reference: Reference
    number: int
    source: str
    altered: AlteredTest
    validated: Validated | None = None

    def item_of(self, program: str | None) -> WorkItem:
        """The execution of a program against it, None: the task's own solution."""
        item = self.reference.item_of(program, self.altered.text)
        return separated(item) if self.number == SEPARATED else item

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


def validated_variants(
    wanted: Iterable[tuple[Reference, int]], known: Contradictions, execute: Execute
) -> dict[tuple[str, int], Variant]:
    """Altered tests by task_id and number, with the alterations that hold for the reference solution each time."""
    wanted = list(wanted)
    references = {reference.task["task_id"]: reference for reference, _ in wanted}
    pins = _recorded_pins(references.values(), known, execute)
    variants = {
        (reference.task["task_id"], number): _variant(reference, number, pins[reference.task["task_id"]], known)
        for reference, number in wanted
    }
    _validate(list(variants.values()), known, execute)
    return variants


def _recorded_pins(
    references: Iterable[Reference], known: Contradictions, execute: Execute
) -> dict[str, dict[str, str]]:
    """Expected values that tests compute, by task: recorded under a program that does nothing."""
    pins: dict[str, dict[str, str]] = {}
    items: dict[str, tuple[Made, WorkItem]] = {}
    for reference in references:
        task = reference.task
        source = _identity(task, RECORDED, {})
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


def _variant(reference: Reference, number: int, pins: Mapping[str, str], known: Contradictions) -> Variant:
    test, entry_point = reference.task["test"], reference.task["entry_point"]
    solution = reference.item_of(None, test).program if number == SEPARATED else ""
    source = _identity(reference.task, number, pins, solution)
    altered = known.altered(source)
    if altered is None and number == SEPARATED:
        altered = integrity.separated_test(solution, test, entry_point)
    elif altered is None:
        altered = integrity.contradict(test, entry_point, variant=number, pins=pins)
    return Variant(reference, number, source, altered)


def _identity(task: Mapping[str, Any], number: int, pins: Mapping[str, str], solution: str = "") -> str:
    """Identity of what a text is made of."""
    parts = [integrity.VERSION, task["test"], task["entry_point"], number, sorted(pins.items()), solution]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _validate(variants: Sequence[Variant], known: Contradictions, execute: Execute) -> None:
    """Find out, where it is not known, which alterations hold for the reference solution in every execution."""
    for variant in variants:
        if not variant.altered.alterations:
            variant.validated = Validated((), ())
    open_ones = {
        variant.item.verdict_key: variant
        for variant in variants
        if not variant.validated and known.validated(variant.item.verdict_key) is None
    }
    items = {
        key: [numbered(variant.item, number) for number in range(REFERENCE_EXECUTIONS)]
        for key, variant in open_ones.items()
    }
    verdicts = execute([item for several in items.values() for item in several])
    for key, variant in open_ones.items():
        found = [verdicts[item.verdict_key] for item in items[key]]
        if all(verdict["status"] != "infra_error" for verdict in found):
            made = Made(variant.reference.task["task_id"], variant.number, variant.source, variant.altered.text)
            known.add_validated(key, made, variant.altered, found)
    known.write()
    for variant in variants:
        variant.validated = variant.validated or known.validated(variant.item.verdict_key)
