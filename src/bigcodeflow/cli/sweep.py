"""`bigcodeflow sweep`: models x splits x subsets x settings from one YAML."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bigcodeflow.cli.console import notice, notices, print_table
from bigcodeflow.cli.options import Overrides, SettingOption, settings_options
from bigcodeflow.cli.run import prepare_prefect
from bigcodeflow.config.loading import parse_override
from bigcodeflow.core.table import Column, Table

if TYPE_CHECKING:
    from bigcodeflow.pipeline.sweeps import MemberResult, Plan, SweepConfig, SweepFailedError

#: Columns of long texts, and how narrow a terminal may make them.
_WRAPPED = {"to do": 20, "done": 12, "why": 8}


@settings_options(
    SettingOption("out", shown="the file's, or one of its own in results/sweeps", help="Folder for the results."),
    SettingOption("store", shown="the file's", help="Folder or URL (s3://bucket/prefix) of cached artifacts."),
)
def sweep(
    given: dict[str, Any],
    file: Annotated[
        str, typer.Argument(help="Sweep: a YAML file, or the name of a shipped one, starter or nightly.")
    ] = "starter",
    settings: Overrides = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done for each run, and stop.")] = False,
) -> None:
    """Run every model under every split, subset and setting.

    What is in the store already is reused. A run that fails does not stop the others; the same command again runs
    only what is not finished. With a server running (`bigcodeflow up` in this folder, or PREFECT_API_URL) the sweep
    appears there; else one is started for it, unless nothing is left to do. Exit code 1 when a run failed.
    See docs/sweeps.md.
    """
    from bigcodeflow.pipeline.resolution import Resolver
    from bigcodeflow.pipeline.sweeps import brief_rows, last_runs, load_sweep, members_of, plan_of, plan_rows

    overrides = {".".join(path): value for path, value in map(parse_override, settings or ())}
    config = load_sweep(file, overrides).model_copy(update=given)
    members = members_of(config)
    recorded = last_runs(config.store)
    resolver = Resolver(dry_run=dry_run)
    plans = [plan_of(member, recorded.get(member.name), resolver) for member in members]
    print_table(_table(plan_rows(plans), f"Sweep {config.name}: {len(plans):,} runs"))
    if dry_run:
        return
    results, folder, failure = _perform(config, plans)
    print_table(_table(brief_rows(results), f"Sweep {config.name}"))
    notice(f"results    {folder}")
    if failure is not None:
        raise failure


def _perform(
    config: "SweepConfig", plans: Sequence["Plan"]
) -> "tuple[Sequence[MemberResult], str, SweepFailedError | None]":
    """Every run's result, the sweep's folder, and the error that the sweep ends with where a run failed."""
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


def _table(rows: Sequence[Mapping[str, str]], title: str) -> Table:
    columns = [Column("run", wrap="elide", min_width=16)]
    columns += [
        Column(name, wrap="fold" if name in _WRAPPED else "never", min_width=_WRAPPED.get(name))
        for name in (rows[0] if rows else ())
        if name != "run"
    ]
    return Table.of_records(rows, title=title, columns=columns)
