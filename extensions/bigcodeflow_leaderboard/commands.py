"""Rank recorded runs together with BigCodeBench's published figures."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bigcodeflow.cli.console import notice, notices, out, print_line
from bigcodeflow.cli.options import settings_options
from bigcodeflow.config import Split, Subset, View
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.settings import SettingOption, validated
from bigcodeflow.core.table import Cell, Column, Table
from bigcodeflow.results.runs import find_run
from bigcodeflow_leaderboard import history, outputs, publishing
from bigcodeflow_leaderboard.entries import LeaderboardEntry, entry_line, points, published_entries, rankings, score
from bigcodeflow_leaderboard.measured_entries import entry_of, measured_entries
from bigcodeflow_leaderboard.publishing import LeaderboardConfig
from bigcodeflow_leaderboard.verified_entries import verified_ranks, verified_table

app = typer.Typer(help=__doc__, no_args_is_help=True)


_RUN = SettingOption("runs", "run", help="Take only this run, by record, run or model name; repeatable.")
_ALLOW = SettingOption("allow", help="Take runs in spite of this shortcoming, and say so in the entry; repeatable.")
_STORE = SettingOption("store", help="Folder or URL (s3://bucket/prefix) of the store with the recorded runs.")
_options = partial(settings_options, model=LeaderboardConfig)


@app.command()
@_options(_RUN, _ALLOW, _STORE)
def show(
    given: dict[str, Any],
    split: Annotated[Split, typer.Option(help="Prompts that were answered.")] = "complete",
    subset: Annotated[Subset, typer.Option(help="Every task, or BigCodeBench-Hard.")] = "full",
    origin: Annotated[
        Literal["all", "ours", "published"], typer.Option(help="Only our own entries, or only published ones.")
    ] = "all",
    top: Annotated[int, typer.Option(min=0, help="Show so many ranks, and all of ours; 0 shows all.")] = 20,
    view: Annotated[
        View, typer.Option(help="Every task, or those whose verdicts hold in the verified view; our runs only.")
    ] = "original",
) -> None:
    """Show one ranking: ranks, scores with their intervals, and the published figure for each of our runs."""
    columns = [
        Column(
            name,
            "right" if name in {"rank", "pass@1"} else "left",
            wrap="fold" if name in {"model", "published"} else "never",
        )
        for name in ("rank", "pass@1", "95 % interval", "model", "origin", "published")
    ]
    for ranking in rankings(_entries(_config(given))):
        if (ranking.subset, ranking.split) != (subset, split):
            continue
        if view == "verified":
            found = verified_ranks(_config(given).store, [rank.entry for rank in ranking.ranks])
            out.print(verified_table(found, ranking.title))
            continue
        ranks = [rank for rank in ranking.ranks if origin in {"all", rank.entry.origin}]
        shown = [rank for rank in ranks if not top or rank.position <= top or rank.entry.origin == "ours"]
        rows = []
        for rank in shown:
            entry, published = rank.entry, ""
            if rank.published is not None:
                published = f"{score(rank.published)} ({points(rank.difference_points)})"
            model = "\n".join(filter(None, (entry.title, entry.setting)))
            cells = (rank.position, score(entry.pass_at_1), entry.interval, model, entry.origin, published)
            rows.append([Cell(cell, "strong" if entry.origin == "ours" else "") for cell in cells])
        out.print(Table.of(columns, rows, title=ranking.title))
        if len(shown) < len(ranks):
            notices.print(f"{len(ranks) - len(shown):,} more; --top 0 shows all")


@app.command()
@_options(SettingOption("out", help="Folder for the files."), _RUN, _ALLOW, _STORE)
def write(given: dict[str, Any]) -> None:
    """Write the leaderboard as JSON, CSV, Markdown, HTML and in the shape of the original's results.json.

    The same content is recorded as a dated snapshot in the store, unless the latest snapshot already has it.
    """
    config = _config(given)
    entries = _entries(config)
    snapshot = history.record_snapshot(config.store, entries, datetime.now(UTC))
    for name, content in outputs.files(snapshot).items():
        print_line(write_atomically(Path(config.out) / name, content))
    ours = sum(entry.origin == "ours" for entry in entries)
    notice(f"{ours:,} measured scores, {len(entries) - ours:,} published scores")
    notice(f"snapshot {snapshot.name}")


@app.command()
@_options(
    SettingOption("fail_on_regression", help="Exit code 1 where a score has dropped beyond chance."),
    SettingOption("max_drop_points", "max_drop"),
    _ALLOW,
    _STORE,
)
def diff(
    given: dict[str, Any],
    before: Annotated[
        str, typer.Argument(help="Snapshot: 'latest', 'previous', or how its name or its content's sha256 begins.")
    ] = "latest",
    after: Annotated[str, typer.Argument(help="Second snapshot; 'now' takes the store's current runs.")] = "now",
) -> None:
    """List new, missing and changed entries between two snapshots, and the drops that chance does not explain."""
    config = _config(given)

    def entries(name: str) -> Sequence[LeaderboardEntry]:
        return _entries(config) if name == "now" else history.find_snapshot(config.store, name).entries

    drop = config.max_drop_points
    found = history.changes(entries(before), entries(after), store_root=config.store, max_drop_points=drop)
    for heading, lines in (
        ("regression", [history.change_line(change) for change in found.regressions]),
        ("changed", [history.change_line(change) for change in found.changed if not change.regression]),
        ("new", [entry_line(entry) for entry in found.new]),
        ("gone", [entry_line(entry) for entry in found.gone]),
    ):
        for line in lines:
            print_line(f"{heading:<10} {line}")
    notices.print(
        f"{len(found.new):,} new, {len(found.gone):,} gone, {len(found.changed):,} changed (of these "
        f"{len(found.regressions):,} regressions), {found.unchanged:,} unchanged"
    )
    if config.fail_on_regression and found.regressions:
        raise typer.Exit(1)


@app.command()
@_options(_RUN, _ALLOW, _STORE)
def publish(
    given: dict[str, Any],
    repository: Annotated[str, typer.Argument(help="Existing dataset repository on the hub: OWNER/NAME.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which files it would have; needs neither token nor network.")
    ] = False,
) -> None:
    """Put the leaderboard into a dataset repository of the Hugging Face Hub, in one commit.

    Reads HF_TOKEN and HF_ENDPOINT. Publishing the same content again sends nothing.
    """
    config = _config(given)
    entries = _entries(config)
    if not any(entry.origin == "ours" for entry in entries):
        reasons = "see the reasons above, or run a model first"
        raise ArtifactError(f"{config.store}: has no run that can be published: {reasons}")
    take = history.snapshot_of if dry_run else history.record_snapshot
    snapshot = take(config.store, entries, datetime.now(UTC))
    done = publishing.publish(snapshot, repository, dry_run=dry_run)
    for path in done.written:
        print_line(f"{'would write' if dry_run else 'wrote'} {path}")
    if not done.written:
        notice(f"{repository} shows snapshot {snapshot.name} already: nothing to do")
    elif not dry_run:
        notice(f"{repository} shows snapshot {snapshot.name} in commit {done.commit}")


@app.command()
@_options(_ALLOW, _STORE)
def card(
    given: dict[str, Any],
    run: Annotated[str, typer.Argument(help="Run, by record, run or model name; 'latest' takes the latest of all.")],
    form: Annotated[
        Literal["eval-results", "model-index"],
        typer.Option("--format", help="'eval-results' for .eval_results/*.yaml, 'model-index' for README.md."),
    ] = "eval-results",
) -> None:
    """Print a run's score as YAML for the model's own repository on the hub."""
    config = _config(given)
    entry = entry_of(find_run(config.store, run), allow=config.allow)
    typer.echo(outputs.card(entry, form), nl=False)


def _config(given: dict[str, Any]) -> LeaderboardConfig:
    return validated(LeaderboardConfig, given, "command line")


def _entries(config: LeaderboardConfig) -> tuple[LeaderboardEntry, ...]:
    """Return published and measured entries; print a notice for each run that is refused."""
    measured = measured_entries(config.store, runs=config.runs, allow=config.allow)
    for refusal in measured.refusals:
        notices.print("[yellow]left out:[/yellow]", end=" ")
        notice(refusal)
    return (*published_entries(), *measured.entries)
