"""`bigcodeflow dataset`: look at tasks, and check task files."""

from typing import Annotated

import typer
from rich.syntax import Syntax
from rich.table import Table

from bigcodeflow.cli.console import notices, out
from bigcodeflow.config import DatasetConfig, load_settings

app = typer.Typer(help="Show tasks, or validate a task file.", no_args_is_help=True)

_SOURCE_HELP = "Parquet or JSONL file, hub dataset such as bigcode/bigcodebench@v0.1.4, or 'starter'."


@app.command()
def show(
    source: Annotated[str, typer.Argument(help=_SOURCE_HELP)] = "starter",
    task: Annotated[str, typer.Argument(help="One task's number or id, to be shown whole.")] = "",
    subset: Annotated[str, typer.Option(help="full or hard")] = "full",
    ids: Annotated[str, typer.Option(help="Only these task numbers or ids, such as 1,5-9.")] = "",
    library: Annotated[list[str] | None, typer.Option(help="Only tasks that use this library; repeatable.")] = None,
    domain: Annotated[list[str] | None, typer.Option(help="Only tasks of this domain; repeatable.")] = None,
) -> None:
    """List the tasks of a source, or show one whole."""
    from bigcodeflow import datasets

    config = _config(source, subset=subset, ids=task or ids, libraries=library or [], domains=domain or [])
    resolved = datasets.resolve(config)
    rows = datasets.load_tasks(config, resolved).to_pylist()
    notices.print(resolved.describe, soft_wrap=True)
    if task:
        for row in rows:
            _show_whole(row)
        return
    table = Table("task", "domains", "libraries", "tests", "hard")
    for row in rows:
        hard = "hard" if row["hard"] else ""
        tests = str(len(row["expected_tests"]))
        table.add_row(row["task_id"], ", ".join(row["domains"]), ", ".join(row["libs"]), tests, hard)
    out.print(table)
    notices.print(f"{len(rows):,} tasks")


@app.command()
def validate(source: Annotated[str, typer.Argument(help=_SOURCE_HELP)]) -> None:
    """Check every row of a source and name all that is wrong. Exit code 1 when anything is."""
    from bigcodeflow import datasets

    problems = datasets.validate_source(_config(source))
    for problem in problems:
        out.print(problem, markup=False, soft_wrap=True)
    if problems:
        raise typer.Exit(1)
    notices.print(f"{source}: every row is valid", soft_wrap=True)


def _config(source: str, **view: object) -> DatasetConfig:
    given = {"dataset": {"source": source, **view}, "samples": {"source": "oracle"}}
    return load_settings(given, "command line").dataset


def _show_whole(row: dict[str, str]) -> None:
    for heading, text in (
        ("complete prompt", row["complete_prompt"]),
        ("canonical solution", row["canonical_solution"]),
        ("test", row["test"]),
    ):
        out.rule(f"{row['task_id']}: {heading}", align="left")
        out.print(Syntax(text.rstrip("\n"), "python", background_color="default", word_wrap=True))
    out.rule(f"{row['task_id']}: instruct prompt", align="left")
    out.print(row["instruct_prompt"], markup=False)
