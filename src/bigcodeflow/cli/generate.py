"""`bigcodeflow generate`: ask a model for answers, and write them in the original's format."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli import model_options, options
from bigcodeflow.cli.console import notices, out, progress_listener
from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, DatasetError, GenerationError
from bigcodeflow.store import open_store


def generate(
    model: model_options.Model,
    base_url: model_options.BaseUrl = "",
    dataset: options.Dataset = "bigcode/bigcodebench",
    split: Annotated[options.Split, typer.Option(help="Which prompts the model is asked.")] = options.Split.complete,
    subset: Annotated[options.Subset, typer.Option(help="Ask every task, or BigCodeBench-Hard.")] = options.Subset.full,
    ids: options.Ids = "",
    n_samples: model_options.NSamples = None,
    temperature: model_options.Temperature = "",
    top_p: model_options.TopP = "",
    max_tokens: model_options.MaxTokens = "",
    concurrency: model_options.Concurrency = None,
    max_cost_usd: model_options.MaxCostUsd = None,
    batch: model_options.Batch = False,
    out_folder: Annotated[Path, typer.Option("--out", help="Folder for the sample files.")] = Path("results/samples"),
    store: options.Store = Path("results/store"),
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other setting, such as generation.sampling.seed=1; see docs/generation.md."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count requests, tokens and cost; ask no model.")] = False,
    show_prompt: Annotated[
        str, typer.Option(help="Print exactly what would be sent for this task number or id, and end.", metavar="ID")
    ] = "",
) -> None:
    """Ask a model for programs and write them as a sample file, ready for `bigcodeflow evaluate`.

    Writes the original's file name and format (task_id, solution, raw_solution), and the samples table as Parquet.
    Answers are kept as they come: started again, it asks only for those that are missing.
    """
    generation = model_options.generation_settings(
        model=model,
        base_url=base_url,
        n_samples=n_samples,
        temperature=temperature,
        top_p=top_p,
        max_tokens=max_tokens,
        concurrency=concurrency,
        max_cost_usd=max_cost_usd,
        batch=batch,
    )
    given: dict[str, Any] = {
        "store": str(store),
        "out": str(out_folder),
        "dataset": {"source": dataset, "split": split.value, "subset": subset.value, "ids": show_prompt or ids},
        "samples": {"source": "model"},
        "generation": generation,
    }
    config = load_settings(given, "command line", tuple(settings or ()))
    if show_prompt:
        print_prompt(config)
    elif dry_run:
        print_estimates(config)
    else:
        write_samples(config)


def print_prompt(config: RunConfig) -> None:
    """Show what the first setting sends for the selected task."""
    from bigcodeflow.generation.model_settings import expand_grid
    from bigcodeflow.generation.provider_resolution import request_body, resolve_settings

    generation = expand_grid(config)[0].generation
    chosen = resolve_settings(generation, config.dataset.split, sends=False)
    request = next(chosen.settings.requests(_tasks(config)), None)
    if request is None:
        raise ConfigError(f"--show-prompt {config.dataset.ids}: no such task in {config.dataset.source}")
    body = asyncio.run(request_body(generation, request))
    for line in chosen.notes:
        notices.print(f"note: {line}", markup=False, soft_wrap=True)
    for message in request.prompt.messages:
        notices.print(f"── {message.role}", markup=False)
        out.print(message.text, markup=False, highlight=False, soft_wrap=True)
    if request.prompt.text:
        out.print(request.prompt.text, markup=False, highlight=False, soft_wrap=True)
    notices.print(f"── request (prompt sha256 {request.prompt_sha})", markup=False, soft_wrap=True)
    out.print(json.dumps(body, indent=2, ensure_ascii=False), markup=False, highlight=False, soft_wrap=True)


def print_estimates(config: RunConfig) -> None:
    """Show what each setting would send and cost at most."""
    from rich.table import Table

    from bigcodeflow.generation.costs import estimate_requests
    from bigcodeflow.generation.model_settings import expand_grid
    from bigcodeflow.generation.provider_resolution import resolve_settings

    tasks = _tasks(config)
    columns = ("setting", "samples", "known", "requests", "tokens to read", "to write, at most", "cost, at most")
    table = Table(*columns)
    for setting in expand_grid(config):
        chosen = resolve_settings(setting.generation, config.dataset.split, sends=False)
        found = estimate_requests(chosen.settings, tasks, open_store(config.store).root / "answers")
        most = "no limit" if found.most_completion_tokens is None else f"{found.most_completion_tokens:,}"
        cost = "unknown" if found.most_cost_usd is None else f"${found.most_cost_usd:,.2f}"
        counts = (f"{found.samples:,}", f"{found.known:,}", f"{found.requests:,}", f"{found.prompt_tokens:,}")
        table.add_row(setting.name, *counts, most, cost)
    out.print(table)
    notices.print("known: answered before. Tokens at about four characters each; cost by list prices.", soft_wrap=True)


def write_samples(config: RunConfig) -> None:
    """Ask for every setting, and write its files; a setting that fails does not keep the others from being asked."""
    from bigcodeflow.generation.model_settings import expand_grid

    failures = []
    runs = expand_grid(config)
    for setting in runs:
        try:
            _write(setting)
        except BigCodeFlowError as error:
            if len(runs) == 1:
                raise
            failures.append(f"{setting.name}: {error}")
    if failures:
        raise GenerationError("\n".join(failures))


def _write(config: RunConfig) -> None:
    from bigcodeflow.pipeline import stages
    from bigcodeflow.pipeline.outputs import write_sample_files

    with progress_listener() as listener:
        found = stages.perform_generation(config, listener)
    files = write_sample_files(config, found)
    told = found.generation.statistics
    for name, what in (("cut_off", "cut off at max_tokens"), ("refused", "refused"), ("empty", "empty")):
        if told.get(name):
            notices.print(f"[yellow]![/yellow] {told[name]:,} answers are {what}")
    if "cost_usd" in told:
        notices.print(f"cost of these answers: ${told['cost_usd']:,.4f}")
    for path in files:
        notices.print(f"wrote {path}", soft_wrap=True)


def _tasks(config: RunConfig) -> list[dict[str, Any]]:
    """The tasks, out of the hub cache where they are there: what sends nothing to a model asks nobody else either."""
    from bigcodeflow import datasets

    offline = config.dataset.model_copy(update={"offline": True})
    try:
        tasks = datasets.load_tasks(offline, datasets.resolve(offline))
    except DatasetError:
        tasks = datasets.load_tasks(config.dataset, datasets.resolve(config.dataset))
    found: list[dict[str, Any]] = tasks.to_pylist()
    return found
