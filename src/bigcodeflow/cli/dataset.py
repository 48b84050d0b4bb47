"""Show tasks, or validate a task file."""

from typing import Annotated, Any

import typer
from rich.syntax import Syntax

from bigcodeflow.cli.console import notice, out, print_line
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.settings import SettingOption, validated
from bigcodeflow.core.table import Table

app = typer.Typer(help=__doc__, no_args_is_help=True)

_SOURCE_HELP = "Parquet or JSONL file, hub dataset such as bigcode/bigcodebench@v0.1.4, or 'starter'."


@app.command()
@settings_options(
    "subset",
    "ids",
    SettingOption("libraries", "library", help="Only tasks that use this library; repeatable."),
    SettingOption("domains", "domain", help="Only tasks of this domain; repeatable."),
    "difficulty",
    "solve_rates",
    "view",
    "overlay",
    model=DatasetConfig,
)
def show(
    given: dict[str, Any],
    source: Annotated[str, typer.Argument(help=_SOURCE_HELP)] = "starter",
    task: Annotated[str, typer.Argument(help="One task's number or id, to be shown whole.")] = "",
) -> None:
    """List the tasks of a source, or show one task completely."""
    from bigcodeflow import datasets

    ids = {"ids": task} if task else {}
    config = validated(DatasetConfig, {**given, "source": source, **ids}, "command line")
    resolved = datasets.resolve(config)
    tasks = datasets.load_tasks(config, resolved).to_pylist()
    notice(resolved.describe)
    if task:
        for row in tasks:
            _show_whole(row)
        return
    rates = datasets.solve_rates(config, resolved)
    headings = ("task", "domains", "libraries", "tests", "hard", *(["solve rate"] if rates else []))
    rows = [
        (
            *(row["task_id"], row["domains"], row["libs"], len(row["expected_tests"]), "hard" if row["hard"] else ""),
            *([f"{rates[row['task_id']]:.3g}"] if rates else []),
        )
        for row in tasks
    ]
    out.print(Table.of(headings, rows))
    notice(f"{len(rows):,} tasks")


@app.command()
def validate(source: Annotated[str, typer.Argument(help=_SOURCE_HELP)]) -> None:
    """Check every row of a source and list all errors. Exit code 1 if there are errors."""
    from bigcodeflow import datasets

    problems = datasets.validate_source(DatasetConfig(source=source))
    for problem in problems:
        print_line(problem)
    if problems:
        raise typer.Exit(1)
    notice(f"{source}: every row is valid")


def _show_whole(row: dict[str, str]) -> None:
    for column in ("complete_prompt", "canonical_solution", "test"):
        out.rule(f"{row['task_id']}: {column.replace('_', ' ')}", align="left")
        out.print(Syntax(row[column].rstrip("\n"), "python", background_color="default", word_wrap=True))
    out.rule(f"{row['task_id']}: instruct prompt", align="left")
    out.print(row["instruct_prompt"], markup=False)
