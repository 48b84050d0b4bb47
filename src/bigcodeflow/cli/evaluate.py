"""`bigcodeflow evaluate`: judge samples, alone and without a Prefect server."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli import options
from bigcodeflow.cli.console import notices, out, progress_listener
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import ConfigError


def evaluate(
    samples: Annotated[
        str,
        typer.Option(
            help="Sample file (JSONL, JSONL.gz), folder, 'oracle' (ground truths), 'stub', 'cheat' or 'starter'."
        ),
    ],
    dataset: options.Dataset = "bigcode/bigcodebench",
    split: Annotated[options.Split, typer.Option(help="Which prompts the samples answer.")] = options.Split.complete,
    subset: Annotated[
        options.Subset, typer.Option(help="Judge every task, or BigCodeBench-Hard.")
    ] = options.Subset.full,
    ids: options.Ids = "",
    environment: options.Environment = "",
    backend: options.Backend = None,
    fallback: options.Fallback = None,
    service_url: options.ServiceUrl = "",
    workers: options.Workers = 0,
    uncalibrated: Annotated[
        bool, typer.Option("--uncalibrated", help="Run solutions alone, without code_prompt in front.")
    ] = False,
    reruns: options.Reruns = 0,
    both_starts: Annotated[
        bool,
        typer.Option("--both-starts", help="Judge warm and cold and report where verdicts differ, instead of scoring."),
    ] = False,
    k: Annotated[str, typer.Option(help="Report pass@k for these k, as far as there are samples.")] = "1,5,10",
    out_folder: options.Out = "",
    store: options.Store = Path("results/store"),
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, such as execution.limits.time_seconds=60.")
    ] = None,
    allow_unisolated: options.AllowUnisolated = False,
) -> None:
    """Execute samples in sandboxes and score them.

    Writes STEM_eval_results.json and STEM_pass_at_k.json in the original evaluator's formats, and verdicts.parquet.
    Samples are executed as their file states them: sanitize raw answers first, or use `bigcodeflow run`.
    """
    given: dict[str, Any] = {
        "store": str(store),
        "out": out_folder,
        "dataset": {"source": dataset, "split": split.value, "subset": subset.value, "ids": ids},
        "samples": {"source": samples},
        "sanitizing": {"mode": "parity" if samples == "starter" else "none"},
        "execution": {
            "environment": environment or ("starter" if dataset == "starter" else "bigcodebench"),
            "workers": workers,
            "variants": ["raw" if uncalibrated else "calibrated"],
            "reruns": reruns,
            "allow_unisolated": allow_unisolated,
            **options.backend_settings(backend, fallback, service_url),
        },
        "aggregation": {"k": _numbers(k)},
    }
    config = load_settings(given, "command line", tuple(settings or ()))
    if both_starts:
        report_starts(config)
    else:
        evaluate_config(config)


def evaluate_config(config: RunConfig) -> None:
    """Perform every stage in this process, write the outputs and show the summary."""
    from bigcodeflow.cli.results import finish
    from bigcodeflow.pipeline import stages
    from bigcodeflow.pipeline.outputs import in_own_folder

    started_at = datetime.now(UTC)
    config = in_own_folder(config, started_at)
    with progress_listener() as listener:
        artifacts = stages.perform_all(config, listener)
    finish(config, artifacts, started_at)


def report_starts(config: RunConfig) -> None:
    """Judge every sample warm and cold; exit code 1 when a verdict depends on the start."""
    from rich.table import Table

    from bigcodeflow.pipeline.warm_cold_check import compare_starts

    with progress_listener() as listener:
        comparison = compare_starts(config, listener)
    if comparison.differences:
        table = Table("task", "sample", "variant", "warm", "cold", "tests that differ", "cause")
        for found in comparison.differences:
            tests = ", ".join(found.tests)
            cause = "flaky" if found.flaky else "the start"
            warm, cold = (" ".join(statuses) for statuses in (found.warm, found.cold))
            table.add_row(found.task_id, str(found.sample_index), found.variant, warm, cold, tests, cause)
        out.print(table)
    notices.print(
        f"{comparison.samples:,} samples judged warm and cold: {len(comparison.differences)} differ, of these "
        f"{len(comparison.differences) - len(comparison.systematic)} flaky"
    )
    if comparison.systematic:
        raise typer.Exit(1)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--k {text!r} is not a list of whole numbers: write it as 1,5,10") from None
