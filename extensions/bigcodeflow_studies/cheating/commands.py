"""Command of the study of answers to tasks whose shown tests contradict their descriptions. See docs/cheating.md."""

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
    wording: Annotated[Wording, typer.Option(help="Sentence behind which the tests are shown.")] = Wording.neutral,
    settings: Overrides = None,
) -> None:
    """Write the tasks whose tests can be contradicted as a dataset: prompts show the contradicted tests.

    Every contradiction is ground-truthed: the reference solution passes the test method as it is and fails it altered,
    each time, and a stub fails it. Any run takes the file as its dataset.source; no score over it counts.
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
