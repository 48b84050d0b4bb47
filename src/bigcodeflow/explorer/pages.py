"""Basics of all pages: the request with its parameters, pagination, and errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.plugins import loaded_plugins
from bigcodeflow.explorer.catalog import Catalog, CatalogVersion, ListedRun

#: Number of rows of a list on a page.
ROWS = 50
#: Filters of runs: query parameter → attribute of ListedRun that must have its value.
CHOICES = {"model": "who", "benchmark": "benchmark", "split": "split", "subset": "subset", "environment": "environment"}


class NotThereError(BigCodeFlowError):
    """The address names something that the store does not have."""


class AddressError(BigCodeFlowError):
    """The address has invalid parts."""


class Page(NamedTuple):
    """Name of a template, and the variables to render it with."""

    template: str
    context: dict[str, Any]


class OwnPage(NamedTuple):
    """A plug-in's page; it has the address of its entry point's name in the group ``bigcodeflow.pages``."""

    title: str
    """In the navigation."""
    make: "Callable[[Visit], Page]"
    """Make the page of a request; raise BigCodeFlowError to show a message instead."""
    templates: Path
    """Folder with the page's template, whose name no template of the explorer has."""


@cache
def own_pages() -> Mapping[str, OwnPage]:
    """Return the pages of installed plug-ins by address; a warning names each that cannot be loaded."""
    return {f"/{name}": page for name, page in loaded_plugins("bigcodeflow.pages", OwnPage).items()}


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page."""

    catalog: Catalog
    version: CatalogVersion
    query: QueryParams
    now: datetime

    def text(self, name: str, longest: int = 500) -> str:
        """Return a query parameter, stripped and cut to ``longest`` characters; empty if it is absent."""
        return self.query.get(name, "").strip()[:longest]

    def number(self, name: str, default: int) -> int:
        """Return an integer query parameter, at least 0; raise AddressError if it is invalid."""
        text = self.query.get(name, "")
        if not text:
            return default
        if not text.isascii() or not text.isdecimal() or len(text) > 9:  # noqa: PLR2004 - of an INTEGER
            raise AddressError(f"{name}={text[:40]!r} is not a whole number: correct the address")
        return int(text)

    def day(self, name: str) -> date | None:
        """Return a date query parameter, None if it is absent; raise AddressError if it is invalid."""
        text = self.query.get(name, "")
        try:
            return date.fromisoformat(text) if text else None
        except ValueError:
            raise AddressError(f"{name}={text[:40]!r} is not a date such as 2026-11-24: correct the address") from None

    def run(self, record: str) -> ListedRun:
        """Return the run with this record name; raise NotThereError if there is none."""
        found = self.version.by_record.get(record)
        if found is None:
            raise NotThereError(
                f"this store has no run of the record {record[:200]!r}: it was deleted, it has not ended yet, or it is "
                "of another store"
            )
        return found

    def choices(self) -> dict[str, Sequence[str]]:
        """Return the existing values of each filter in CHOICES, for a form."""
        return {
            name: sorted({value for run in self.version.runs if (value := getattr(run, attribute))})
            for name, attribute in CHOICES.items()
        }


class Portion(NamedTuple):
    """Range of rows of a long list that a page shows."""

    number: int
    """Page number, starting at 1."""
    total: int
    """Number of rows of all pages."""

    @property
    def first(self) -> int:
        """Index of the first row, starting at 0."""
        return (self.number - 1) * ROWS

    @property
    def last_page(self) -> int:
        """Number of the last page, at least 1."""
        return max(1, -(-self.total // ROWS))

    @classmethod
    def of(cls, visit: Visit, total: int) -> "Portion":
        """Create the portion of the page number in the address, limited to the last page."""
        return cls(max(1, min(visit.number("page", 1), -(-total // ROWS))), total)


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)
