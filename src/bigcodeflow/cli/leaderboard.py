"""`bigcodeflow leaderboard`: recorded runs beside the published figures, with a history."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bigcodeflow.cli.console import notices, out
from bigcodeflow.cli.options import RecordedStore, Split, Subset
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.table import Cell, Column, Table
from bigcodeflow.store import write_atomically

if TYPE_CHECKING:
    from bigcodeflow.leaderboard import Allowance, Changes, LeaderboardEntry, Rank

app = typer.Typer(help="Recorded runs beside BigCodeBench's published figures.", no_args_is_help=True)


class Allow(StrEnum):
    """A shortcoming that may be published on purpose."""

    ground_truth = "ground-truth"
    tests = "tests"


class Origin(StrEnum):
    """Who measured."""

    all = "all"
    ours = "ours"
    published = "published"


class CardForm(StrEnum):
    """Which of the hub's formats."""

    eval_results = "eval-results"
    model_index = "model-index"


_Runs = Annotated[
    list[str] | None, typer.Option("--run", help="Take only this run, by record, run or model name; repeatable.")
]
_Allow = Annotated[
    list[Allow] | None,
    typer.Option(help="Take runs although this is wrong with them, and say so in the entry; repeatable."),
]
_STORE = Path("results/store")


@app.command()
def show(
    split: Annotated[Split, typer.Option(help="Which prompts were answered.")] = Split.complete,
    subset: Annotated[Subset, typer.Option(help="Every task, or BigCodeBench-Hard.")] = Subset.full,
    origin: Annotated[Origin, typer.Option(help="Only our own entries, or only published ones.")] = Origin.all,
    top: Annotated[int, typer.Option(min=0, help="Show so many ranks, and all of ours; 0 shows all.")] = 20,
    run: _Runs = None,
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Show one ranking: ranks, scores with their intervals, and ours beside the published figure."""
    from bigcodeflow import leaderboard

    for ranking in leaderboard.rankings(_entries(store, run, allow)):
        if (ranking.subset, ranking.split) != (subset.value, split.value):
            continue
        ranks = [rank for rank in ranking.ranks if origin.value in {"all", rank.entry.origin}]
        shown = [rank for rank in ranks if not top or rank.position <= top or rank.entry.origin == "ours"]
        out.print(_table(ranking.title, shown))
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
    from bigcodeflow import leaderboard

    entries = _entries(store, run, allow)
    snapshot = leaderboard.record_snapshot(store, entries, datetime.now(UTC))
    for name, content in leaderboard.files(snapshot).items():
        out.print(str(write_atomically(out_folder / name, content)), markup=False, soft_wrap=True)
    _say_entries(entries)
    notices.print(f"snapshot {snapshot.name}", markup=False, soft_wrap=True)


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
    ] = 1.0,
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Say what is new, gone and changed between two snapshots, and which drops chance does not explain."""
    from bigcodeflow import leaderboard

    def entries(name: str) -> "Sequence[LeaderboardEntry]":
        return _entries(store, None, allow) if name == "now" else leaderboard.find_snapshot(store, name).entries

    found = leaderboard.changes(entries(before), entries(after), store_root=store, max_drop_points=max_drop)
    _show_changes(found)
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
    from bigcodeflow import leaderboard

    entries = _entries(store, run, allow)
    if not any(entry.origin == "ours" for entry in entries):
        raise ArtifactError(f"{store}: has no run that can be published: see the reasons above, or run a model first")
    now = datetime.now(UTC)
    take = leaderboard.snapshot_of if dry_run else leaderboard.record_snapshot
    snapshot = take(store, entries, now)
    done = leaderboard.publish(snapshot, repository, dry_run=dry_run)
    for path in done.written:
        out.print(f"{'would write' if dry_run else 'wrote'} {path}", markup=False, soft_wrap=True)
    if not done.written:
        notices.print(f"{repository} shows snapshot {snapshot.name} already: nothing to do", soft_wrap=True)
    elif not dry_run:
        notices.print(f"{repository} shows snapshot {snapshot.name} in commit {done.commit}", soft_wrap=True)


@app.command()
def card(
    run: Annotated[str, typer.Argument(help="Run, by record, run or model name; 'latest' takes the latest of all.")],
    form: Annotated[
        CardForm, typer.Option("--format", help="'eval-results' for .eval_results/*.yaml, 'model-index' for README.md.")
    ] = CardForm.eval_results,
    allow: _Allow = None,
    store: RecordedStore = _STORE,
) -> None:
    """Print what the model's own repository on the hub can show of a run, as YAML."""
    from bigcodeflow import leaderboard
    from bigcodeflow.results.runs import find_run

    entry = leaderboard.entry_of(find_run(store, run), allow=_allowances(allow))
    text = leaderboard.card(entry, "model-index" if form is CardForm.model_index else "eval-results")
    out.print(text, end="", markup=False, highlight=False, soft_wrap=True)


def _entries(store: Path, runs: Sequence[str] | None, allow: Iterable[Allow] | None) -> "tuple[LeaderboardEntry, ...]":
    """Published and measured entries; runs that are refused are named."""
    from bigcodeflow import leaderboard

    measured = leaderboard.measured_entries(store, runs=runs or (), allow=_allowances(allow))
    for refusal in measured.refusals:
        notices.print("[yellow]left out:[/yellow]", end=" ")
        notices.print(str(refusal), markup=False, soft_wrap=True)
    return (*leaderboard.published_entries(), *measured.entries)


def _allowances(allow: Iterable[Allow] | None) -> "list[Allowance]":
    from bigcodeflow.leaderboard import Allowance

    return [Allowance(allowed.value) for allowed in allow or ()]


def _say_entries(entries: "Sequence[LeaderboardEntry]") -> None:
    ours = sum(entry.origin == "ours" for entry in entries)
    notices.print(f"{ours:,} scores of ours, {len(entries) - ours:,} published ones")


def _table(title: str, ranks: "Iterable[Rank]") -> Table:
    from bigcodeflow.leaderboard.rankings import interval_of, points, score

    columns = (
        Column("rank", "right", wrap="never"),
        Column("pass@1", "right", wrap="never"),
        Column("95 % interval", wrap="never"),
        "model",
        Column("origin", wrap="never"),
        Column("published", wrap="never"),
    )
    rows = []
    for rank in ranks:
        entry = rank.entry
        published = f"{score(rank.published)} ({points(rank.difference_points)})" if rank.published is not None else ""
        model = "\n".join(filter(None, (entry.title, entry.setting)))
        cells = (rank.position, score(entry.pass_at_1), interval_of(entry), model, entry.origin, published)
        rows.append([Cell(cell, "strong" if entry.origin == "ours" else "") for cell in cells])
    return Table.of(columns, rows, title=title)


def _show_changes(found: "Changes") -> None:
    from bigcodeflow.leaderboard import change_line, entry_line

    for heading, lines in (
        ("regression", [change_line(change) for change in found.regressions]),
        ("changed", [change_line(change) for change in found.changed if not change.regression]),
        ("new", [entry_line(entry) for entry in found.new]),
        ("gone", [entry_line(entry) for entry in found.gone]),
    ):
        for line in lines:
            out.print(f"{heading:<10} {line}", markup=False, highlight=False, soft_wrap=True)
    notices.print(
        f"{len(found.new):,} new, {len(found.gone):,} gone, {len(found.changed):,} changed (of these "
        f"{len(found.regressions):,} regressions), {found.unchanged:,} unchanged"
    )
