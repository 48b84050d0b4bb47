"""Audit tasks by mutants of the reference solutions, contradicted tests, recorded runs and ground truths."""

from typing import Annotated

import typer

from bigcodeflow.cli.console import print_line, print_table
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.cli.studies import study_command
from bigcodeflow.store import open_store

audit = typer.Typer(invoke_without_command=True)
audit.callback()(study_command("audit"))


@audit.command()
def show(
    task: Annotated[str, typer.Argument(help="Id or number of a task.")],
    store: RecordedStore = "results/store",
    code: Annotated[
        bool, typer.Option("--code", help="Also print the task's prompt, solution and test with line numbers.")
    ] = False,
) -> None:
    """Show the findings of the latest audit of a task in the store, and the command that reproduces each finding."""
    from bigcodeflow_studies.audit.tables import shown

    tables, text = shown(open_store(store), task)
    for table in tables:
        print_table(table)
    if code:
        print_line(text)
