"""`bigcodeflow clean`: what no recorded run needs and nobody has used for long."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Column, Table

from bigcodeflow.cli.console import notices, out


def clean(
    store: Annotated[
        Path, typer.Option(help="Folder or URL (s3://bucket/prefix) of artifacts to clean.", envvar="BIGCODEFLOW_STORE")
    ] = Path("results/store"),
    older_than_days: Annotated[
        float, typer.Option(help="Only what nobody has used for so many days goes; at least 1.")
    ] = 30.0,
    keep_runs_per_name: Annotated[
        int, typer.Option(help="Keep the records of so many newest runs of each name; 0 keeps all records.")
    ] = 0,
    answers: Annotated[
        bool, typer.Option("--answers", help="Also remove models' answers that no recorded run needs. They were paid.")
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Really remove it. Else it is only listed.")] = False,
) -> None:
    """List what may go from a store, and with --delete remove it.

    That is: artifacts that no recorded run needs, unfinished work that nobody has gone on with, and, if asked for, old
    run records and answers. Runs in progress keep what they use.
    """
    from bigcodeflow.core.settings import validated
    from bigcodeflow.pipeline.retention import RetentionConfig, removable, remove, removed_rows, totals

    given = {
        "store": str(store),
        "older_than_days": older_than_days,
        "keep_runs_per_name": keep_runs_per_name,
        "answers": answers,
        "dry_run": not delete,
    }
    config = validated(RetentionConfig, given, "command line")
    now = datetime.now(UTC)
    found = removable(config, now)
    gone = remove(config, found, now) if delete else found
    if gone:
        rows = removed_rows(gone)
        table = Table(*(Column(name, overflow="fold") for name in rows[0]))
        for row in rows:
            table.add_row(*(escape(cell) for cell in row.values()))
        out.print(table)
    notices.print(f"{'removed' if delete else 'may go'}: {totals(gone)}", soft_wrap=True)
    if gone and not delete:
        notices.print("nothing was removed; --delete removes it")
