"""`bigcodeflow audit`: gaps in the tests of tasks, and tasks that cannot be judged reliably."""

from typing import Annotated

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import print_line, print_table
from bigcodeflow.cli.studies import study_command
from bigcodeflow.store import open_store

app = typer.Typer(invoke_without_command=True)
app.callback()(study_command("audit"))


@app.command()
def show(
    task: Annotated[str, typer.Argument(help="Id or number of a task.")],
    store: options.RecordedStore = "results/store",
    code: Annotated[
        bool, typer.Option("--code", help="Also print the task's prompt, solution and test with line numbers.")
    ] = False,
) -> None:
    """Show what the store's audits have found about one task, and the command that reproduces each finding."""
    from bigcodeflow.studies.audit.tables import shown

    found = shown(open_store(store), task)
    for table in found.tables:
        print_table(table)
    if code:
        print_line(found.code)
