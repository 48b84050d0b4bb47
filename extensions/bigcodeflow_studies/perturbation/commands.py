"""Commands that write variants of tasks with the same meaning, and compare runs on tasks and on variants."""

from typing import Annotated, Any

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, print_line, print_study, print_table
from bigcodeflow.cli.options import Overrides, RecordedStore, settings_options
from bigcodeflow.config import load_settings
from bigcodeflow.core.plugins import benchmark_of
from bigcodeflow.core.settings import SettingOption, merged, validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.results.runs import find_run
from bigcodeflow.store import open_store
from bigcodeflow_studies.perturbation import PerturbationConfig
from bigcodeflow_studies.perturbation.comparing import compare_runs
from bigcodeflow_studies.perturbation.writing import make_variants, require_suffix, write_dataset

perturb = typer.Typer(no_args_is_help=True)


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
    """Write a dataset of variants that mean the same as their tasks, and execute them as a check.

    A variant is kept if its reference solution passes its test and a stub fails it. Its id is the task's id,
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
    """Compare a model's run on tasks with its run on their variants: the gap in scores with a 95 % interval, by kind.

    Tasks are paired; several variants of a task count as their mean. Nothing is executed. See docs/perturbation.md.
    """
    place = open_store(store)
    runs = (find_run(store, name) for name in (original, perturbed))
    print_study(place, compare_runs(place, *runs, variant=variant))
