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
    """Error for an address that names something which the store does not have."""


class AddressError(BigCodeFlowError):
    """Error for an address with invalid parameters."""


class Page(NamedTuple):
    """Name of a template, and the variables to render it with."""

    template: str
    context: dict[str, Any]


class OwnPage(NamedTuple):
    """Page of a plug-in; its address is the name of its entry point in the group ``bigcodeflow.pages``."""

    title: str
    """Title of the page in the navigation."""
    make: "Callable[[Visit], Page]"
    """Function that makes the page for a request; it may raise BigCodeFlowError to show a message instead."""
    templates: Path
    """Folder with the page's template; the template's name must not be that of a template of the explorer."""


@cache
def own_pages() -> Mapping[str, OwnPage]:
    """Return the pages of installed plug-ins by address; log a warning for each page that cannot be loaded."""
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
                f"this store has no run with the record {record[:200]!r}: it was deleted, has not ended yet, or "
                "belongs to another store; the page Runs lists all"
            )
        return found

    def choices(self) -> dict[str, Sequence[str]]:
        """Return the values that the runs have for each filter in CHOICES, to fill a form."""
        return {
            name: sorted({value for run in self.version.runs if (value := getattr(run, attribute))})
            for name, attribute in CHOICES.items()
        }


class Portion(NamedTuple):
    """Range of rows of a long list that a page shows."""

    number: int
    """Page number, starting at 1."""
    total: int
    """Number of rows on all pages together."""

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
        """Create the portion for the page number in the address; numbers after the last page give the last page."""
        return cls(max(1, min(visit.number("page", 1), -(-total // ROWS))), total)


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)
