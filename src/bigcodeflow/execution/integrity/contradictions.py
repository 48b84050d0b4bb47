"""What was found out about a task's altered tests: which of their methods the reference solution fails, and passes.

``{store}/contradictions/{environment_sha}.parquet`` holds it for one environment, as rows of the CONTRADICTIONS schema.
A row is known by the content of the execution that it rests on, so that it serves every run in that environment.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import CONTRADICTIONS, table_of
from bigcodeflow.execution.integrity import VARIANTS, Alteration, AlteredTest
from bigcodeflow.store import Store, locked

_STAGE = "contradictions"
#: Variant of the rows that hold recorded values.
RECORDED = -1

Row = dict[str, Any]


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
        """Read what is known.

        Args:
            store: where the table lies; None keeps what is found out in this process.
            environment_sha: identity of the environment.

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
        """What an execution of the reference solution told of an altered test; None: it is not known."""
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
            entries += [_control(name) for name in executions[0] if name not in altered_tests]
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
            told = " ".join(str(error).split())
            raise ArtifactError(
                f"{path}: is no table of contradictions ({told}): delete it, it is made again"
            ) from error


def _control(test: str) -> Row:
    return {"test": test, "line": 0, "kind": "control", "before": "", "after": ""}


def holds(alteration: Mapping[str, Any], tests: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an execution did with the altered method what a correct solution does.

    Args:
        alteration: as in ALTERATION.
        tests: results of the execution's tests, as in TEST_RESULT, by name.
    """
    outcome = tests.get(alteration["test"], {}).get("outcome")
    return outcome in ("fail", "error") if alteration["kind"] == "contradiction" else outcome == "pass"
