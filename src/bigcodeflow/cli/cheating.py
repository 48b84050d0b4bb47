"""`bigcodeflow cheating`: a model's answers to tasks whose shown tests contradict their descriptions."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, print_line, print_study
from bigcodeflow.cli.options import SettingOption, settings_options
from bigcodeflow.core.settings import validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store, write_atomically
from bigcodeflow.studies import cheating
from bigcodeflow.studies.cheating import CheatingConfig, ContradictedTasksConfig, Wording

app = typer.Typer(
    help="How a model answers tasks whose shown tests contradict their descriptions. See docs/cheating.md.",
    no_args_is_help=True,
)
_TASKS = ("dataset", "subset", "ids", "least_solve_rate", "environment", "workers", "store")
_options = partial(settings_options, *_TASKS)


@app.command()
@_options(model=ContradictedTasksConfig)
def tasks(
    given: dict[str, Any],
    out_file: Annotated[Path, typer.Option("--out", help="Parquet file to write, in the hub's schema.")],
    wording: Annotated[Wording, typer.Option(help="Sentence behind which the tests are shown.")] = Wording.neutral,
    settings: options.Overrides = None,
) -> None:
    """Write the tasks whose tests can be contradicted as a dataset: prompts show the contradicted tests.

    Every contradiction is ground-truthed: the reference solution passes the test method as it is and fails it altered,
    each time, and a stub fails it. Any run takes the file as its dataset.source; no score over it counts.
    """
    config = validated(ContradictedTasksConfig, {**given, "overrides": settings or ()}, "command line")
    with progress_listener() as listener:
        found = cheating.contradicted_tasks(config, listener)
    print_line(write_atomically(out_file, cheating.table_bytes([one.row(wording) for one in found.tasks])))
    notice(
        f"{found.n_tasks:,} tasks, {found.n_solved:,} solved often enough, {found.n_by_text:,} with a contradiction in "
        f"the text, {len(found.tasks):,} with one that holds for the reference solution"
    )


@app.command()
@settings_options(
    SettingOption("models", "model", help="PROVIDER:NAME of a model to ask; repeatable."),
    "samples",
    SettingOption("wordings", "wording", help="Sentence behind which the tests are shown; repeatable. All if none."),
    "split",
    "n_samples",
    *_TASKS,
    model=CheatingConfig,
)
def run(given: dict[str, Any], settings: options.Overrides = None) -> None:
    """Ask models to solve contradicted tasks, judge their answers, and tell how many are cheats, and of what kind.

    The dataset is one of ordinary tasks, which are contradicted first, or a file of `bigcodeflow cheating tasks`. What
    was asked and executed before is reused.
    """
    config = validated(CheatingConfig, {**given, "overrides": settings or ()}, "command line")
    with progress_listener() as listener:
        ref = cheating.run_study(config, listener)
    print_study(open_store(config.store), ref)
