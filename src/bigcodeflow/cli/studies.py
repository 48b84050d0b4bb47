"""Commands of studies: most are made from the settings of their study, run it and print the tables of the result."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, print_line, print_study, print_table
from bigcodeflow.cli.options import Command, Overrides, RecordedStore, settings_options
from bigcodeflow.config import load_settings
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.plugins import benchmark_of
from bigcodeflow.core.settings import SET, SettingOption, SettingsModel, merged, validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.results.runs import find_run
from bigcodeflow.store import open_store
from bigcodeflow.studies import installed_studies
from bigcodeflow.studies.cheating import TASK_OPTIONS, ContradictedTasksConfig, Wording
from bigcodeflow.studies.perturbation import PerturbationConfig
from bigcodeflow.studies.perturbation.comparing import compare_runs
from bigcodeflow.studies.perturbation.writing import make_variants, require_suffix, write_dataset
from bigcodeflow.studies.registry import help_of

audit = typer.Typer(invoke_without_command=True)
cheating, perturb = typer.Typer(no_args_is_help=True), typer.Typer(no_args_is_help=True)


def study_command(name: str) -> Command:
    """Return the command that runs a study: an option for each of its settings."""
    study = installed_studies()[name]
    model: type[SettingsModel] = study.settings or SettingsModel
    # Nested models have no option; the field `overrides` is the option --set.
    names = [name for name, field in model.model_fields.items() if not hasattr(field.annotation, "model_fields")]
    chosen = study.options or [SET if name == SET.path else name for name in names]

    def command(context: typer.Context, given: dict[str, Any]) -> None:
        if context.invoked_subcommand:
            return
        config: Any = validated(model, merged({}, given, "command line"), "command line")
        with progress_listener() as listener:
            ref = study.run(config, listener)
        print_study(open_store(config.store), ref)

    command.__doc__ = help_of(study)
    return settings_options(*chosen, model=model)(command)


audit.callback()(study_command("audit"))


@audit.command()
def show(
    task: Annotated[str, typer.Argument(help="Id or number of a task.")],
    store: RecordedStore = "results/store",
    code: Annotated[
        bool, typer.Option("--code", help="Also print the task's prompt, solution and test with line numbers.")
    ] = False,
) -> None:
    """Show what the store's audits have found about one task, and the command that reproduces each finding."""
    from bigcodeflow.studies.audit.tables import shown

    tables, text = shown(open_store(store), task)
    for table in tables:
        print_table(table)
    if code:
        print_line(text)


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
    from bigcodeflow.studies.cheating.tasks import contradicted_tasks
    from bigcodeflow.studies.derived_files import parquet_bytes

    config = validated(ContradictedTasksConfig, {**given, "overrides": settings or ()}, "command line")
    with progress_listener() as listener:
        found = contradicted_tasks(config, listener)
    print_line(write_atomically(out_file, parquet_bytes([one.row(wording) for one in found.tasks])))
    notice(
        f"{found.n_tasks:,} tasks, {found.n_solved:,} solved often enough, {found.n_by_text:,} with a contradiction in "
        f"the text, {len(found.tasks):,} with one that holds for the reference solution"
    )


cheating.command("run")(study_command("cheating"))


@perturb.command()
@settings_options(
    options.DATASET._replace(path="run.dataset.source"),
    "run.dataset.subset",
    "run.dataset.ids",
    SettingOption("run.execution.environment", shown="the dataset's"),
    "run.execution.workers",
    SettingOption("run.store", variable=options.STORE_VARIABLE),
    SettingOption("kinds", shown="all five, and function+parameters+docstring"),
    "seed",
    "per_task",
    model=PerturbationConfig,
)
def write(
    given: dict[str, Any],
    out: Annotated[str, typer.Option(help="File to write, Parquet or JSONL, for `dataset.source` of any run.")],
    settings: Overrides = None,
) -> None:
    """Write a dataset of variants of tasks that mean the same, checked by executing them.

    A variant is kept where its reference solution passes its test and its stub does not. Its id is the task's,
    followed by kind and number, as in BigCodeBench/12~function.1. See docs/perturbation.md.
    """
    require_suffix(out)
    source = given["run.dataset.source"]
    if benchmark_of(source) is None:
        given.setdefault("run.execution.environment", "starter" if source == "starter" else "bigcodebench")
    sections = merged({}, {**given, "run.samples.source": "oracle"}, "command line")
    run = load_settings(sections["run"], "command line", tuple(settings or ()))
    config = validated(PerturbationConfig, {**sections, "run": run}, "command line")
    with progress_listener() as listener:
        perturbed = make_variants(config, listener)
    print_table(perturbed.table)
    print_line(write_dataset(perturbed, out))
    notice(f"{len(perturbed.rows):,} variants; judge them with --set dataset.source={out}")


@perturb.command()
def compare(
    original: Annotated[str, typer.Argument(help="Run on the original tasks, by record, name, title or model.")],
    perturbed: Annotated[str, typer.Argument(help="Run on a dataset that `perturb write` made of these tasks.")],
    store: RecordedStore = "results/store",
    variant: options.RecordedVariant = "calibrated",
) -> None:
    """Compare a model's run on tasks with its run on their variants: the gap with its 95 % interval, by kind.

    Tasks are paired; several variants of a task count as their mean. Nothing is executed. See docs/perturbation.md.
    """
    place = open_store(store)
    runs = (find_run(store, name) for name in (original, perturbed))
    print_study(place, compare_runs(place, *runs, variant=variant))
