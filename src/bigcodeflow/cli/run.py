"""`bigcodeflow run`: the whole pipeline as a Prefect flow."""

from typing import Annotated

import typer

from bigcodeflow.config import load_config


def run(
    preset: Annotated[
        str, typer.Argument(help="Preset: a YAML file, or the name of a shipped one such as 'starter'.")
    ] = "starter",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Override a setting, such as sanitizing.mode=robust; repeatable.")
    ] = None,
    no_prefect: Annotated[
        bool, typer.Option("--no-prefect", help="Run the same stages in this process, without a Prefect server.")
    ] = False,
) -> None:
    """Run every stage on a preset: load, sanitize, execute, aggregate.

    Finished stages are reused. With PREFECT_API_URL set the run appears in that server; else one is started for it,
    unless every stage is in the cache.
    """
    config = load_config(preset, tuple(settings or ()))
    if no_prefect:
        from bigcodeflow.cli.evaluate import evaluate_config

        evaluate_config(config)
        return
    from bigcodeflow.cli.flow_run import run_flow

    run_flow(config)
