"""`bigcodeflow run`: the whole pipeline as a Prefect flow."""

from typing import Annotated

import typer

from bigcodeflow.cli import model_options, options
from bigcodeflow.cli.console import notices
from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, ExecutionError


def run(
    preset: Annotated[
        str, typer.Argument(help="Preset: a YAML file, or the name of a shipped one such as 'starter'.")
    ] = "starter",
    model: model_options.Model = "",
    base_url: model_options.BaseUrl = "",
    n_samples: model_options.NSamples = None,
    temperature: model_options.Temperature = "",
    top_p: model_options.TopP = "",
    max_tokens: model_options.MaxTokens = "",
    concurrency: model_options.Concurrency = None,
    max_cost_usd: model_options.MaxCostUsd = None,
    batch: model_options.Batch = False,
    backend: options.Backend = None,
    fallback: options.Fallback = None,
    service_url: options.ServiceUrl = "",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, such as sanitizing.mode=robust; repeatable.")
    ] = None,
    no_prefect: Annotated[
        bool, typer.Option("--no-prefect", help="Run the same stages in this process, without a Prefect server.")
    ] = False,
) -> None:
    """Run every stage on a preset: load, ask the model, sanitize, execute, aggregate.

    Without --model the preset says where the answers come from. Finished stages are reused. With a server running
    (`bigcodeflow up` in this folder, or PREFECT_API_URL) the run appears there; else one is started for it, unless
    every stage is in the cache.
    """
    asked = model_options.generation_settings(
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
    placed = options.flat_overrides("execution", options.backend_settings(backend, fallback, service_url))
    overrides = (*model_options.overrides(asked), *placed, *(settings or ()))
    run_each(load_config(preset, overrides), no_prefect=no_prefect)


def run_each(config: RunConfig, *, no_prefect: bool) -> None:
    """Run every setting of a grid, or the run itself; a setting that fails does not keep the others from running."""
    from bigcodeflow.generation import expand_grid

    runs, failures = expand_grid(config), []
    for one in runs:
        if len(runs) > 1:
            notices.rule(one.name)
        try:
            _run_one(one, no_prefect=no_prefect)
        except BigCodeFlowError as error:
            if len(runs) == 1 or isinstance(error, ConfigError):
                raise
            failures.append(f"{one.name}: {error}")
    if failures:
        raise ExecutionError("\n".join(failures))


def _run_one(config: RunConfig, *, no_prefect: bool) -> None:
    if no_prefect:
        from bigcodeflow.cli.evaluate import evaluate_config

        evaluate_config(config)
        return
    from bigcodeflow.cli.flow_run import run_flow

    run_flow(config)
