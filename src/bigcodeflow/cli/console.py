"""How commands print: results on standard output, notices on standard error."""

from rich.console import Console

from bigcodeflow.core.table import Table

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
