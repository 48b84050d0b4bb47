"""`bigcodeflow leaderboard`: recorded runs beside the published figures, with a history."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from bigcodeflow.cli.console import notice, notices, out, print_line
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.config import Split, Subset
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.table import Cell, Column, Table
from bigcodeflow.leaderboard import history, outputs, publishing
from bigcodeflow.leaderboard.entries import LeaderboardEntry, entry_line, points, published_entries, rankings, score
from bigcodeflow.leaderboard.measured_entries import Allowance, entry_of, measured_entries
from bigcodeflow.results.runs import find_run
from bigcodeflow.store import write_atomically

app = typer.Typer(help="Recorded runs beside BigCodeBench's published figures.", no_args_is_help=True)


_Runs = Annotated[
    list[str] | None, typer.Option("--run", help="Take only this run, by record, run or model name; repeatable.")
]
_Allow = Annotated[
    list[Allowance] | None,
    typer.Option(help="Take runs although this is wrong with them, and say so in the entry; repeatable."),
]
_STORE = "results/store"


@app.command()
def show(
    split: Annotated[Split, typer.Option(help="Which prompts were answered.")] = "complete",
    subset: Annotated[Subset, typer.Option(help="Every task, or BigCodeBench-Hard.")] = "full",
    origin: Annotated[
        Literal["all", "ours", "published"], typer.Option(help="Only our own entries, or only published ones.")
    ] = "all",
    top: Annotated[int, typer.Option(min=0, help="Show so many ranks, and all of ours; 0 shows all.")] = 20,
    run: _Runs = None,
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Show one ranking: ranks, scores with their intervals, and ours beside the published figure."""
    columns = (
        Column("rank", "right", wrap="never"),
        Column("pass@1", "right", wrap="never"),
        Column("95 % interval", wrap="never"),
        "model",
        Column("origin", wrap="never"),
        Column("published", wrap="never"),
    )
    for ranking in rankings(_entries(store, run, allow)):
        if (ranking.subset, ranking.split) != (subset, split):
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
def write(
    out_folder: Annotated[Path, typer.Option("--out", help="Folder for the files.")] = Path("results/leaderboard"),
    run: _Runs = None,
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Write the leaderboard as JSON, CSV, Markdown, HTML and in the shape of the original's results.json.

    What is written is also recorded as a dated snapshot in the store, unless the latest one says the same.
    """
    entries = _entries(store, run, allow)
    snapshot = history.record_snapshot(store, entries, datetime.now(UTC))
    for name, content in outputs.files(snapshot).items():
        print_line(write_atomically(out_folder / name, content))
    ours = sum(entry.origin == "ours" for entry in entries)
    notice(f"{ours:,} scores of ours, {len(entries) - ours:,} published ones")
    notice(f"snapshot {snapshot.name}")


@app.command()
def diff(
    before: Annotated[
        str, typer.Argument(help="Snapshot: 'latest', 'previous', or how its name or its content's sha256 begins.")
    ] = "latest",
    after: Annotated[str, typer.Argument(help="Another one; 'now' takes what the store's runs say now.")] = "now",
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit code 1 where a score has dropped beyond chance.")
    ] = False,
    max_drop: Annotated[
        float, typer.Option(min=0, help="Points that a score may drop where its tasks cannot be compared one by one.")
    ] = history.MAX_DROP_POINTS,
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Say what is new, gone and changed between two snapshots, and which drops chance does not explain."""

    def entries(name: str) -> Sequence[LeaderboardEntry]:
        return _entries(store, None, allow) if name == "now" else history.find_snapshot(store, name).entries

    found = history.changes(entries(before), entries(after), store_root=store, max_drop_points=max_drop)
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
    if fail_on_regression and found.regressions:
        raise typer.Exit(1)


@app.command()
def publish(
    repository: Annotated[str, typer.Argument(help="Existing dataset repository on the hub: OWNER/NAME.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say which files it would have; needs neither token nor network.")
    ] = False,
    run: _Runs = None,
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Put the leaderboard into a dataset repository of the Hugging Face Hub, in one commit.

    Reads HF_TOKEN and HF_ENDPOINT. Publishing the same content again sends nothing.
    """
    entries = _entries(store, run, allow)
    if not any(entry.origin == "ours" for entry in entries):
        raise ArtifactError(f"{store}: has no run that can be published: see the reasons above, or run a model first")
    now = datetime.now(UTC)
    take = history.snapshot_of if dry_run else history.record_snapshot
    snapshot = take(store, entries, now)
    done = publishing.publish(snapshot, repository, dry_run=dry_run)
    for path in done.written:
        print_line(f"{'would write' if dry_run else 'wrote'} {path}")
    if not done.written:
        notice(f"{repository} shows snapshot {snapshot.name} already: nothing to do")
    elif not dry_run:
        notice(f"{repository} shows snapshot {snapshot.name} in commit {done.commit}")


@app.command()
def card(
    run: Annotated[str, typer.Argument(help="Run, by record, run or model name; 'latest' takes the latest of all.")],
    form: Annotated[
        Literal["eval-results", "model-index"],
        typer.Option("--format", help="'eval-results' for .eval_results/*.yaml, 'model-index' for README.md."),
    ] = "eval-results",
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Print what the model's own repository on the hub can show of a run, as YAML."""
    entry = entry_of(find_run(store, run), allow=allow or ())
    typer.echo(outputs.card(entry, form), nl=False)


def _entries(store: str, runs: Sequence[str] | None, allow: Sequence[Allowance] | None) -> tuple[LeaderboardEntry, ...]:
    """Published and measured entries; runs that are refused are named."""
    measured = measured_entries(store, runs=runs or (), allow=allow or ())
    for refusal in measured.refusals:
        notices.print("[yellow]left out:[/yellow]", end=" ")
        notice(refusal)
    return (*published_entries(), *measured.entries)
