"""How commands print: results on standard output, notices on standard error."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.core.table import Table

if TYPE_CHECKING:
    from bigcodeflow.store import ArtifactRef, Store

T = TypeVar("T")

out = Console(soft_wrap=False)
notices = Console(stderr=True, highlight=False)


def print_line(text: object) -> None:
    """A line of the result as it is: neither wrapped nor taken for rich's markup."""
    out.print(str(text), markup=False, highlight=False, soft_wrap=True)


def notice(text: object) -> None:
    """A line on standard error as it is."""
    notices.print(str(text), markup=False, soft_wrap=True)


def print_table(table: Table) -> None:
    """A table that has rows."""
    if table.rows:
        out.print(table)


def print_study(store: "Store", ref: "ArtifactRef") -> None:
    """The tables of a study's result, and where the explorer shows them."""
    from bigcodeflow.studies import STUDIES  # imports the report, which other commands need not wait for

    for table in STUDIES[ref.stage].tables(store.read(ref)):
        print_table(table)
    notice(f"explore: /studies/{ref.stage}/{ref.key} of `bigcodeflow explore --store {store.location}`")


def perform_each(
    items: Sequence[T],
    perform: Callable[[T], None],
    error: type[BigCodeFlowError],
    *,
    name: Callable[[T], str],
    fatal: tuple[type[BigCodeFlowError], ...] = (),
) -> None:
    """Perform all of them; one that fails does not keep the others from being done, unless its error is fatal.

    What a single item or a fatal error raises is raised as it is; else ``error`` has a named line for each failure.
    """
    failures = []
    for item in items:
        try:
            perform(item)
        except BigCodeFlowError as failure:
            if len(items) == 1 or isinstance(failure, fatal):
                raise
            failures.append(f"{name(item)}{failure}")
    if failures:
        raise error("\n".join(failures))
