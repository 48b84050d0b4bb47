"""Printing of the commands: results on standard output, notices on standard error."""

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
    """Print a line on standard output unchanged: not wrapped, and not parsed as rich markup."""
    out.print(str(text), markup=False, highlight=False, soft_wrap=True)


def notice(text: object) -> None:
    """Print a line on standard error unchanged: not wrapped, and not parsed as rich markup."""
    notices.print(str(text), markup=False, soft_wrap=True)


def print_table(table: Table) -> None:
    """Print a table on standard output; print nothing if it has no rows."""
    if table.rows:
        out.print(table)


def print_study(store: "Store", ref: "ArtifactRef") -> None:
    """Print the tables of a study's result, and a notice with the explorer's address for the result."""
    from bigcodeflow.studies import installed_studies  # slow: it imports the report, which other commands do not need

    for table in installed_studies()[ref.stage].tables(store.read(ref)):
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
    """Call ``perform`` for each item; a failure does not stop the remaining items, unless its error is fatal.

    An error whose type is in ``fatal``, or the error of the only item, is raised unchanged. Otherwise an error of
    type ``error`` is raised at the end, with a line for each failure: ``name(item)``, then the message.
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
