"""Variants of tasks that mean the same: robust models solve both."""

from typing import Annotated, Any

import typer

from bigcodeflow.cli.console import notice, print_line, print_study, print_table
from bigcodeflow.cli.options import DATASET, Overrides, RecordedStore, RecordedVariant, settings_options
from bigcodeflow.config import load_config
from bigcodeflow.core.plugins import benchmark_of
from bigcodeflow.core.settings import SettingOption, validated

app = typer.Typer(help=__doc__, no_args_is_help=True)


@app.command()
@settings_options(
    DATASET,
    "dataset.subset",
    "dataset.ids",
    SettingOption("execution.environment", shown="the dataset's"),
    "execution.workers",
    "store",
)
def write(
    given: dict[str, Any],
    out: Annotated[str, typer.Option(help="File to write, Parquet or JSONL, for `dataset.source` of any run.")],
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            help="What is changed: function, parameters, literals, docstring, data, or several joined as in "
            "function+docstring; repeatable.",
            show_default="all five, and function+parameters+docstring",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same variants.")] = 0,
    per_task: Annotated[int, typer.Option(min=1, max=20, help="Variants of each task and kind.")] = 1,
    settings: Overrides = None,
) -> None:
    """Write a dataset of variants of tasks that mean the same, checked by executing them.

    A variant is kept where its reference solution passes its test and its stub does not. Its id is the task's,
    followed by kind and number, as in BigCodeBench/12~function.1. See docs/perturbation.md.
    """
    from bigcodeflow.pipeline.progress import progress_listener
    from bigcodeflow.studies.perturbation import DEFAULT_KINDS, PerturbationConfig
    from bigcodeflow.studies.perturbation.writing import make_variants, require_suffix, write_dataset

    require_suffix(out)
    given["samples.source"] = "oracle"
    if benchmark_of(given["dataset.source"]) is None:
        given.setdefault("execution.environment", "starter" if given["dataset.source"] == "starter" else "bigcodebench")
    run = load_config(None, tuple(settings or ()), given)
    values = {"run": run, "kinds": tuple(kinds or DEFAULT_KINDS), "seed": seed, "per_task": per_task}
    config = validated(PerturbationConfig, values, "command line")
    with progress_listener() as listener:
        perturbed = make_variants(config, listener)
    print_table(perturbed.table)
    print_line(write_dataset(perturbed, out))
    notice(f"{len(perturbed.rows):,} variants; judge them with --set dataset.source={out}")


@app.command()
def compare(
    original: Annotated[str, typer.Argument(help="Run on the original tasks, by record, name, title or model.")],
    perturbed: Annotated[str, typer.Argument(help="Run on a dataset that `perturb write` made of these tasks.")],
    store: RecordedStore = "results/store",
    variant: RecordedVariant = "calibrated",
) -> None:
    """Compare a model's run on tasks with its run on their variants: the gap with its 95 % interval, by kind.

    Tasks are paired; several variants of a task count as their mean. Nothing is executed. See docs/perturbation.md.
    """
    from bigcodeflow.results.runs import find_run
    from bigcodeflow.store import open_store
    from bigcodeflow.studies.perturbation.comparing import compare_runs

    place = open_store(store)
    runs = (find_run(store, name) for name in (original, perturbed))
    print_study(place, compare_runs(place, *runs, variant=variant))
