"""`bigcodeflow audit`: gaps in the tests of tasks, and tasks that cannot be judged reliably."""

from functools import partial
from typing import Annotated, Any

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import print_line, print_study, print_table
from bigcodeflow.cli.options import SettingOption, settings_options
from bigcodeflow.core.settings import validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow.studies.audit import AuditConfig

app = typer.Typer(invoke_without_command=True)

_options = partial(
    settings_options,
    "environment",
    "dataset",
    "subset",
    "ids",
    SettingOption("runs", "run"),
    "mutants",
    "seed",
    "contradictions",
    "workers",
    "store",
    model=AuditConfig,
)


@app.callback()
@_options()
def audit(context: typer.Context, given: dict[str, Any], settings: options.Overrides = None) -> None:
    """Audit tasks: mutants of the reference solutions, contradicted tests, what models and executions tell.

    Every mutant that a task's test does not notice shows something that the test does not check. Nothing is executed
    twice: the same command again shows what is known.
    """
    if context.invoked_subcommand:
        return
    from bigcodeflow.studies.audit.study import audit as perform

    config = validated(AuditConfig, {**given, "overrides": tuple(settings or ())}, "command line")
    with progress_listener() as listener:
        ref = perform(config, listener)
    print_study(open_store(config.store), ref)


@app.command()
def show(
    task: Annotated[str, typer.Argument(help="Id or number of a task.")],
    store: options.RecordedStore = "results/store",
    code: Annotated[
        bool, typer.Option("--code", help="Also print the task's prompt, solution and test with line numbers.")
    ] = False,
) -> None:
    """Show what the store's audits have found about one task, and the command that reproduces each finding."""
    from bigcodeflow.studies.audit.one_task import shown

    found = shown(open_store(store), task)
    for table in found.tables:
        print_table(table)
    if code:
        print_line(found.code)
