"""`bigcodeflow run` and `evaluate`: the pipeline as a Prefect flow, or in this process."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow import results
from bigcodeflow.cli import options
from bigcodeflow.cli.console import notice, notices, out, print_table
from bigcodeflow.cli.options import SettingOption, settings_options
from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, ExecutionError
from bigcodeflow.core.table import Table
from bigcodeflow.pipeline import outputs, stages
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store

#: Set before Prefect is imported, and only where the user has set nothing.
_PREFECT_SETTINGS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    # A loaded machine needs more than the default 20 s to bring the server up.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}


@settings_options(*(option._replace(shown="the preset's") for option in (*options.MODEL, *options.BACKEND)))
def run(
    given: dict[str, Any],
    preset: Annotated[
        str, typer.Argument(help="Preset: a YAML file, or the name of a shipped one such as 'starter'.")
    ] = "starter",
    settings: options.Overrides = None,
    no_prefect: Annotated[
        bool, typer.Option("--no-prefect", help="Run the same stages in this process, without a Prefect server.")
    ] = False,
) -> None:
    """Run every stage on a preset: load, ask the model, sanitize, execute, aggregate.

    Without --model the preset says where the answers come from. Finished stages are reused. With a server running
    (`bigcodeflow up` in this folder, or PREFECT_API_URL) the run appears there; else one is started for it, unless
    every stage is in the cache.
    """
    if "generation.model" in given:
        given["samples.source"] = "model"
    run_each(load_config(preset, tuple(settings or ()), given), no_prefect=no_prefect)


@settings_options(
    options.SAMPLES._replace(
        help="Sample file (JSONL, JSONL.gz), folder, 'oracle' (ground truths), 'stub', 'cheat' or 'starter'."
    ),
    options.DATASET,
    options.SPLIT,
    options.SUBSET,
    options.IDS,
    SettingOption("execution.environment", shown="the dataset's"),
    *options.BACKEND,
    options.WORKERS,
    SettingOption("execution.reruns"),
    SettingOption("aggregation.k"),
    SettingOption("out"),
    options.STORE,
    SettingOption("execution.allow_unisolated"),
)
def evaluate(
    given: dict[str, Any],
    uncalibrated: Annotated[
        bool, typer.Option("--uncalibrated", help="Run solutions alone, without code_prompt in front.")
    ] = False,
    both_starts: Annotated[
        bool,
        typer.Option("--both-starts", help="Judge warm and cold and report where verdicts differ, instead of scoring."),
    ] = False,
    settings: options.Overrides = None,
) -> None:
    """Execute samples in sandboxes and score them.

    Writes STEM_eval_results.json and STEM_pass_at_k.json in the original evaluator's formats, and verdicts.parquet.
    Samples are executed as their file states them: sanitize raw answers first, or use `bigcodeflow run`.
    """
    given["sanitizing.mode"] = "parity" if given["samples.source"] == "starter" else "none"
    given["execution.variants"] = ["raw" if uncalibrated else "calibrated"]
    given.setdefault("execution.environment", "starter" if given["dataset.source"] == "starter" else "bigcodebench")
    config = load_config(None, tuple(settings or ()), given)
    if both_starts:
        _report_starts(config)
    else:
        _evaluate(config)


def run_each(config: RunConfig, *, no_prefect: bool) -> None:
    """Run every setting of a grid, or the run itself; a setting that fails does not keep the others from running."""
    from bigcodeflow.generation import expand_grid

    runs, failures = expand_grid(config), []
    perform = _evaluate if no_prefect else _run_flow
    for one in runs:
        if len(runs) > 1:
            notices.rule(one.name)
        try:
            perform(one)
        except BigCodeFlowError as error:
            if len(runs) == 1 or isinstance(error, ConfigError):
                raise
            failures.append(f"{one.name}: {error}")
    if failures:
        raise ExecutionError("\n".join(failures))


def _evaluate(config: RunConfig) -> None:
    """Perform every stage in this process, write the outputs and show the summary."""
    started_at = datetime.now(UTC)
    config = outputs.in_own_folder(config, started_at)
    with progress_listener() as listener:
        artifacts = stages.perform_all(config, listener)
    _finish(config, artifacts, started_at)


def _run_flow(config: RunConfig) -> None:
    """Run the flow to its end and show what it found, on a running Prefect server or on one started for it."""
    from bigcodeflow.pipeline.resolution import resolve

    started_at = datetime.now(UTC)
    config = outputs.in_own_folder(config, started_at)
    if not prepare_prefect():
        artifacts = stages.finished_run(resolve(config))
        if artifacts is not None:  # a server of its own would take longer to start than everything else takes
            notices.print("every stage is in the cache: nothing to run")
            _finish(config, artifacts, started_at)
            return
        notices.print("starting a Prefect server for this run (`bigcodeflow up` starts one that stays) …")
    from flows.benchmark import benchmark

    _show_results(config, benchmark(config))


def prepare_prefect() -> bool:
    """Set what Prefect reads when it is imported; whether a running server is named.

    Where the user names none, it is the one that `bigcodeflow up` started from this folder.
    """
    state = Path(os.environ.get("BIGCODEFLOW_STATE", ".bigcodeflow"))
    if not os.environ.get("PREFECT_API_URL") and (state / "service.json").is_file():
        from bigcodeflow.prefect_service import ServiceFolder, running_server

        settings = running_server(ServiceFolder(state))
        if settings is not None:
            notice(f"on the Prefect server of this folder: {settings.ui_url}")
            os.environ["PREFECT_API_URL"] = settings.api_url
    for name, value in _PREFECT_SETTINGS.items():
        os.environ.setdefault(name, value)
    return bool(os.environ.get("PREFECT_API_URL"))


def _finish(config: RunConfig, artifacts: stages.RunArtifacts, started_at: datetime) -> None:
    """Write the outputs of a run that did without Prefect, and show them."""
    now = datetime.now().astimezone()
    outputs.write_outputs(config, artifacts, open_store(config.store), started_at=started_at, evaluated_at=now)
    _show_results(config, artifacts)


def _show_results(config: RunConfig, artifacts: stages.RunArtifacts) -> None:
    """Print the run's summary, and where result files, artifacts and the catalog are."""
    store = open_store(config.store)
    failures = results.ground_truth_failures(store.path(artifacts.ground_truth))
    title = outputs.run_title(config)
    out.print(results.render_summary(store.read(artifacts.aggregation), failures=failures, title=title))
    # The catalog of a store at a URL lies in this machine's replica.
    folder = store.root if config.store == store.location else config.store
    server = Path(sys.executable).with_name("prefect")
    for line in (
        f"results    {config.out}",
        f"artifacts  {config.store}",
        f"catalog    {folder}/{results.CATALOG_NAME}  (for any DuckDB client)",
        f"Prefect UI {server} server start, then open http://127.0.0.1:4200",
    ):
        notice(line)


def _report_starts(config: RunConfig) -> None:
    """Judge every sample warm and cold; exit code 1 when a verdict depends on the start."""
    from bigcodeflow.pipeline.warm_cold_check import compare_starts

    with progress_listener() as listener:
        comparison = compare_starts(config, listener)
    headings = ("task", "sample", "variant", "warm", "cold", "tests that differ", "cause")
    rows = []
    for found in comparison.differences:
        statuses = (" ".join(found.warm), " ".join(found.cold))
        cause = "flaky" if found.flaky else "the start"
        rows.append((found.task_id, found.sample_index, found.variant, *statuses, found.tests, cause))
    print_table(Table.of(headings, rows))
    notices.print(
        f"{comparison.samples:,} samples judged warm and cold: {len(comparison.differences)} differ, of these "
        f"{len(comparison.differences) - len(comparison.systematic)} flaky"
    )
    if comparison.systematic:
        raise typer.Exit(1)
