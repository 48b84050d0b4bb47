"""What every page is made of: the explorer that it belongs to, and what its address asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.explorer.catalog import Catalog, CatalogVersion, ListedRun
from bigcodeflow.explorer.search_index import SampleIndex

#: Rows of a list on one page.
ROWS = 50


class NotThereError(BigCodeFlowError):
    """An address that names what the store does not hold."""


class AddressError(BigCodeFlowError):
    """An address whose parts cannot be understood."""


class Page(NamedTuple):
    """A template and what it shows."""

    template: str
    context: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Visit:
    """One request for a page."""

    catalog: Catalog
    version: CatalogVersion
    index: SampleIndex
    query: QueryParams
    now: datetime

    def text(self, name: str, longest: int = 500) -> str:
        """A part of the address; empty where it is absent."""
        return self.query.get(name, "").strip()[:longest]

    def number(self, name: str, default: int) -> int:
        """A whole number of 0 and more in the address."""
        text = self.query.get(name, "")
        if not text:
            return default
        if not text.isascii() or not text.isdecimal() or len(text) > 9:  # noqa: PLR2004 - of an INTEGER
            raise AddressError(f"{name}={text[:40]!r} is no whole number: correct the address")
        return int(text)

    def day(self, name: str) -> date | None:
        """A day in the address; None where it is absent."""
        text = self.query.get(name, "")
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            raise AddressError(f"{name}={text[:40]!r} is no day such as 2026-11-24: correct the address") from None

    def run(self, record: str) -> ListedRun:
        """The run of a record's name."""
        found = self.version.by_record.get(record)
        if found is None:
            raise NotThereError(
                f"this store has no run of the record {record[:200]!r}: it was deleted, it has not ended yet, or it is "
                "of another store"
            )
        return found

    def lists(self, names: Mapping[str, str]) -> dict[str, Sequence[str]]:
        """For each attribute of runs the values that there are, for a form."""
        return {
            name: sorted({value for run in self.version.runs if (value := getattr(run, attribute))})
            for name, attribute in names.items()
        }


class Portion(NamedTuple):
    """Which rows of a long list a page shows."""

    number: int
    """Of the page, from 1 on."""
    total: int
    """Rows of all pages."""

    @property
    def first(self) -> int:
        """Place of the first row, from 0 on."""
        return (self.number - 1) * ROWS

    @property
    def last_page(self) -> int:
        """Number of the last page, 1 at least."""
        return max(1, -(-self.total // ROWS))

    @classmethod
    def of(cls, visit: Visit, total: int) -> "Portion":
        """What the address asks for; a page beyond the last one is the last."""
        return cls(max(1, min(visit.number("page", 1), -(-total // ROWS))), total)


def now() -> datetime:
    """This moment, UTC."""
    return datetime.now(UTC)
