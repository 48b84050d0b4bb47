"""`bigcodeflow evaluate`: judge samples, alone and without a Prefect server."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli.console import progress_listener
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.errors import ConfigError


class Split(StrEnum):
    """Prompt style of the samples."""

    complete = "complete"
    instruct = "instruct"


class Subset(StrEnum):
    """Part of the benchmark."""

    full = "full"
    hard = "hard"


def evaluate(
    samples: Annotated[
        str, typer.Option(help="Sample file (JSONL, JSONL.gz), folder, 'oracle' (ground truths), 'stub' or 'starter'.")
    ],
    dataset: Annotated[
        str, typer.Option(help="Parquet or JSONL file, hub dataset such as bigcode/bigcodebench@v0.1.4, or 'starter'.")
    ] = "bigcode/bigcodebench",
    split: Annotated[Split, typer.Option(help="Which prompts the samples answer.")] = Split.complete,
    subset: Annotated[Subset, typer.Option(help="Judge every task, or BigCodeBench-Hard.")] = Subset.full,
    ids: Annotated[str, typer.Option(help="Only these task numbers or ids, such as 1,5-9; empty takes all.")] = "",
    environment: Annotated[
        str, typer.Option(help="Sandbox environment, see `bigcodeflow env list`. [default: the dataset's]")
    ] = "",
    workers: Annotated[int, typer.Option(min=0, help="Dask worker processes; 0 takes one a core.")] = 0,
    uncalibrated: Annotated[
        bool, typer.Option("--uncalibrated", help="Run solutions alone, without code_prompt in front.")
    ] = False,
    k: Annotated[str, typer.Option(help="Report pass@k for these k, as far as there are samples.")] = "1,5,10",
    out_folder: Annotated[Path, typer.Option("--out", help="Folder for the result files.")] = Path("results/latest"),
    store: Annotated[
        Path,
        typer.Option(help="Folder of cached artifacts; equal work is never done twice.", envvar="BIGCODEFLOW_STORE"),
    ] = Path("results/store"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, such as execution.limits.time_seconds=60.")
    ] = None,
    allow_unisolated: Annotated[
        bool,
        typer.Option("--allow-unisolated", help="Run without bubblewrap where it is missing. Risks this machine."),
    ] = False,
) -> None:
    """Execute samples in sandboxes and score them.

    Writes STEM_eval_results.json and STEM_pass_at_k.json in the original evaluator's formats, and verdicts.parquet.
    Samples are executed as their file states them: sanitize raw answers first, or use `bigcodeflow run`.
    """
    given: dict[str, Any] = {
        "store": str(store),
        "out": str(out_folder),
        "dataset": {"source": dataset, "split": split.value, "subset": subset.value, "ids": ids},
        "samples": {"source": samples},
        "sanitizing": {"mode": "parity" if samples == "starter" else "none"},
        "execution": {
            "environment": environment or ("starter" if dataset == "starter" else "bigcodebench"),
            "workers": workers,
            "variants": ["raw" if uncalibrated else "calibrated"],
            "allow_unisolated": allow_unisolated,
        },
        "aggregation": {"k": _numbers(k)},
    }
    evaluate_config(load_settings(given, "command line", tuple(settings or ())))


def evaluate_config(config: RunConfig) -> None:
    """Perform every stage in this process, write the outputs and show the summary."""
    from bigcodeflow import stages
    from bigcodeflow.cli.results import finish

    started_at = datetime.now(UTC)
    with progress_listener() as listener:
        artifacts = stages.perform_all(config, listener)
    finish(config, artifacts, started_at)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--k {text!r} is not a list of whole numbers: write it as 1,5,10") from None
