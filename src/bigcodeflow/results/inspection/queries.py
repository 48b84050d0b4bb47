"""One recorded run, opened for inspection: the samples that fit some filters, and each sample in detail."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, VERDICTS
from bigcodeflow.results import models
from bigcodeflow.results.inspection.sample_detail import SampleDetail, detail_of
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import RecordedRun

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Artifacts that a run may lack, such as an imported one: the view over it, its schema, what people call it.
_OPTIONAL: tuple[tuple[str, str, pa.Schema, str], ...] = (
    ("sanitizing", "solutions", SOLUTIONS, "programs"),
    ("generation", "samples", SAMPLES, "raw answers"),
    ("ground_truth", "ground_truth", VERDICTS, "verdicts of ground truths"),
)
_EVERY_STATUS = "all"
_VALUES_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Filters:
    """Which samples are wanted; what is empty or None wants all."""

    statuses: tuple[str, ...] = ()
    """Empty wants every sample that did not pass; 'all' wants passes too."""
    kinds: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    text: str = ""
    """Stands in the program, a traceback or the output; case does not matter."""
    task: str = ""
    """A task's id or number."""
    sample_index: int | None = None


class InspectedRun:
    """A recorded run whose tables are open."""

    def __init__(self, run: RecordedRun, connection: "DuckDBPyConnection", absent: Sequence[str]) -> None:
        self.run, self._connection = run, connection
        self.absent = tuple(absent)
        """What the store does not hold of this run, in words."""
        self._facets: dict[str, list[str]] = {}
        for row in models.rows_of(connection, "inspection_facets"):
            self._facets.setdefault(row["facet"], []).append(row["value"])

    def samples(self, filters: Filters) -> list[Row]:
        """The samples that fit, in the order of the tasks: grain and columns as in ``sql/inspection_samples.sql``.

        Each row also says with ``quarantined`` whether the task was known not to judge reliably.

        Raises:
            ConfigError: a filter names what the run does not have; the message says what it has.
        """
        wanted = {
            "statuses": self._statuses(filters.statuses),
            "kinds": self._known("kind", filters.kinds),
            "libraries": self._known("library", filters.libraries),
            "domains": self._known("domain", filters.domains),
            "variants": self._known("variant", filters.variants),
            "text": filters.text or None,
            "task_id": self.task_id(filters.task) if filters.task else None,
            "sample_index": filters.sample_index,
        }
        rows = models.rows_of(self._connection, "inspection_samples", wanted)
        return [row | {"quarantined": row["task_id"] in self.run.quarantined} for row in rows]

    def details(self, samples: Iterable[Mapping[str, Any]]) -> list[SampleDetail]:
        """Everything that the store holds of samples, in their order.

        Args:
            samples: rows that name task_id, sample_index, variant and sanitizer.
        """
        found: list[SampleDetail] = []
        known: dict[tuple[Any, ...], Row] = {}
        for sample in samples:
            if _identity(sample) not in known:  # tasks come one after the other
                rows = models.rows_of(self._connection, "inspection_details", {"task_id": sample["task_id"]})
                known = {_identity(row): row for row in rows}
            found.append(detail_of(known[_identity(sample)], self.run))
        return found

    def task_id(self, text: str) -> str:
        """The task that an id or a number means.

        Raises:
            ConfigError: none or several of the run's tasks.
        """
        ids = self._facets.get("task", [])
        fitting = [text] if text in ids else [one for one in ids if one.rpartition("/")[2] == text]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise ConfigError(f"task {text!r} may be any of {', '.join(fitting)}: give the whole id")
        close = difflib.get_close_matches(text, ids, n=3) or ids[:3]
        raise ConfigError(
            f"run {self.run.record} has no task {text!r}; of its {len(ids):,} there is, for one, {', '.join(close)}"
        )

    def _statuses(self, wanted: tuple[str, ...]) -> list[str] | None:
        if _EVERY_STATUS in wanted:
            return None
        if not wanted:
            return [status for status in self._facets.get("status", []) if status != "pass"]
        return self._known("status", wanted)

    def _known(self, facet: str, wanted: tuple[str, ...]) -> list[str] | None:
        """The values as the run writes them."""
        if not wanted:
            return None
        there = {value.casefold(): value for value in self._facets.get(facet, [])}
        unknown = [value for value in wanted if value.casefold() not in there]
        if unknown:
            shown = list(there.values())[:_VALUES_SHOWN]
            more = f" and {len(there) - len(shown)} more" if len(there) > len(shown) else ""
            raise ConfigError(
                f"--{facet} {', '.join(unknown)}: run {self.run.record} has none; it has "
                f"{', '.join(shown) or 'no value at all'}{more}"
            )
        return [there[value.casefold()] for value in wanted]


@contextmanager
def inspect_run(run: RecordedRun) -> Iterator[InspectedRun]:
    """Open a run's tables.

    Raises:
        ArtifactError: the tasks or the verdicts are gone, or a table cannot be read.
    """
    paths = {"tasks": run.path("dataset"), "verdicts": run.path("execution")}
    lacking = []
    for artifact, view, schema, words in _OPTIONAL:
        path = run.path_if_kept(artifact)
        if path is None:
            lacking.append((view, schema, words))
        else:
            paths[view] = path
    with models.sources(**paths) as connection:
        for view, schema, _ in lacking:
            connection.register(f"source_{view}", schema.empty_table())
        yield InspectedRun(run, connection, [words for _, _, words in lacking])


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("task_id", "sample_index", "variant", "sanitizer"))
