"""`bigcodeflow sweep`: models x splits x subsets x settings from one YAML."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml
from rich.markup import escape
from rich.table import Column, Table

from bigcodeflow.cli.console import Elided, notices, out
from bigcodeflow.core.errors import ConfigError

if TYPE_CHECKING:
    from bigcodeflow.pipeline.sweeps import MemberResult, Plan, SweepConfig, SweepFailedError

#: Columns of long texts, and how narrow a terminal may make them.
_WRAPPED = {"run": 16, "to do": 20, "done": 12, "why": 8}


def sweep(
    file: Annotated[
        str, typer.Argument(help="Sweep: a YAML file, or the name of a shipped one, starter or nightly.")
    ] = "starter",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting of every run, such as execution.workers=4; repeatable."),
    ] = None,
    out_folder: Annotated[
        str,
        typer.Option(
            "--out", help="Folder for the results. [default: the file's, or one of its own in results/sweeps]"
        ),
    ] = "",
    store: Annotated[
        str,
        typer.Option(
            help="Folder or URL (s3://bucket/prefix) of cached artifacts. [default: the file's]",
            envvar="BIGCODEFLOW_STORE",
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done for each run, and stop.")] = False,
) -> None:
    """Run every model under every split, subset and setting.

    What is in the store already is reused. A run that fails does not stop the others; the same command again runs
    only what is not finished. With a server running (`bigcodeflow up` in this folder, or PREFECT_API_URL) the sweep
    appears there; else one is started for it, unless nothing is left to do. Exit code 1 when a run failed.
    """
    from bigcodeflow.pipeline.resolution import Resolver
    from bigcodeflow.pipeline.sweeps import brief_rows, last_runs, load_sweep, members_of, plan_of, plan_rows

    config = load_sweep(file, _values(settings or ()))
    places = {name: place for name, place in (("out", out_folder), ("store", store)) if place}
    config = config.model_copy(update=places)
    members = members_of(config)
    recorded = last_runs(config.store)
    resolver = Resolver(dry_run=dry_run)
    plans = [plan_of(member, recorded.get(member.name), resolver) for member in members]
    _show(plan_rows(plans), f"Sweep {config.name}: {len(plans):,} runs")
    if dry_run:
        return
    results, folder, failure = _perform(config, plans)
    _show(brief_rows(results), f"Sweep {config.name}")
    notices.print(f"results    {folder}", soft_wrap=True)
    if failure is not None:
        raise failure


def _perform(
    config: "SweepConfig", plans: Sequence["Plan"]
) -> "tuple[Sequence[MemberResult], str, SweepFailedError | None]":
    """Every run's result, the sweep's folder, and the error that the sweep ends with where a run failed."""
    from bigcodeflow.cli.flow_run import prepare_prefect
    from bigcodeflow.pipeline.sweeps import SweepFailedError, folder_of, placed, reused_result, write_results

    if not prepare_prefect():
        if not any(plan.artifacts is None for plan in plans):
            # A server of its own would take longer to start than everything else takes.
            notices.print("every stage of every run is in the store: nothing to run")
            folder = folder_of(config, datetime.now(UTC))
            there = [(placed(plan, folder), plan.artifacts) for plan in plans]
            results = [reused_result(plan, artifacts) for plan, artifacts in there if artifacts is not None]
            write_results(config, results, folder)
            return results, folder, None
        notices.print("starting a Prefect server for this sweep (`bigcodeflow up` would keep one running) …")
    from flows.sweep import sweep as sweep_flow

    try:
        done: Sequence[MemberResult] = sweep_flow(config)
        failure = None
    except SweepFailedError as error:
        done, failure = error.results, error
    # The flow names its folder by its own run; something ran there, or there would have been no need of it.
    folders = [str(Path(one.out).parent) for one in done if one.outcome != "reused"]
    return done, config.out or next(iter(folders), "results/sweeps"), failure


def _show(rows: Sequence[Mapping[str, str]], title: str) -> None:
    if not rows:
        return
    columns = (
        Column(name, overflow="fold", min_width=_WRAPPED.get(name), no_wrap=name not in {*_WRAPPED, "run"})
        for name in rows[0]
    )
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(Elided(cell) if name == "run" else escape(cell) for name, cell in row.items()))
    out.print(table)


def _values(settings: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in settings:
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise ConfigError(f"--set {text!r} is not of the form section.key=value, such as execution.workers=4")
        try:
            values[name.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise ConfigError(f"--set {text}: the value is not YAML: {' '.join(str(error).split())}") from None
    return values
