"""Commands of the cheating study: write contradicted tasks, and judge answers to them. See docs/cheating.md."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.options import Overrides, settings_options
from bigcodeflow.cli.studies import study_command
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.settings import validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow_studies.cheating import TASK_OPTIONS, ContradictedTasksConfig, Wording

cheating = typer.Typer(no_args_is_help=True)


@cheating.command()
@settings_options(*TASK_OPTIONS, model=ContradictedTasksConfig)
def tasks(
    given: dict[str, Any],
    out_file: Annotated[Path, typer.Option("--out", help="Parquet file to write, in the hub's schema.")],
    wording: Annotated[Wording, typer.Option(help="Sentence that introduces the shown tests.")] = Wording.neutral,
    settings: Overrides = None,
) -> None:
    """Write a dataset of contradicted tasks: their prompts show tests that contradict the description.

    Executions confirm each contradiction: the reference solution passes the original test method and always fails the
    altered method, as does a stub. Any run accepts the file as dataset.source, but its scores do not count.
    """
    from bigcodeflow.studies.derived_files import parquet_bytes
    from bigcodeflow_studies.cheating.tasks import contradicted_tasks

    config = validated(ContradictedTasksConfig, {**given, "overrides": settings or ()}, "command line")
    with progress_listener() as listener:
        found = contradicted_tasks(config, listener)
    print_line(write_atomically(out_file, parquet_bytes([one.row(wording) for one in found.tasks])))
    notice(
        f"{found.n_tasks:,} tasks, {found.n_solved:,} solved often enough, {found.n_by_text:,} with a contradiction in "
        f"the text, {len(found.tasks):,} with one that holds for the reference solution"
    )


cheating.command("run")(study_command("cheating"))
