"""`bigcodeflow runs`: list, show, label, archive, delete and repeat the runs of a store."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer

from bigcodeflow import results
from bigcodeflow.cli.console import notice, print_line, print_table
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.cli.run import show_results
from bigcodeflow.config import RunConfig
from bigcodeflow.core.display_text import elided
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.settings import validated
from bigcodeflow.core.table import Cell, Column, Table, cell_text
from bigcodeflow.explorer.catalog import Catalog, ListedRun, RunFilter, ordered
from bigcodeflow.pipeline.live_files import LiveState, ended_runs, forget_ended, refuse_if_under_way
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.retention import removable_with, remove_unused, removed_rows, totals
from bigcodeflow.recording import perform_and_record
from bigcodeflow.report.runs import reported_run
from bigcodeflow.results.formatting import json_text, percent, percent_range
from bigcodeflow.results.runs import RecordedRun, RunLabels, find_run
from bigcodeflow.store import open_store

app = typer.Typer(invoke_without_command=True)

#: Facts of a run that its score in words contains.
_IN_SCORE = ("pass_at_k", "ci_low", "ci_high", "k", "provisional")

#: Characters of an error that the list shows.
_MOST_ERROR = 60

Order = Literal["began", "run", "score", "tasks", "cost", "took"]
Outcome = Literal["finished", "crashed", "cancelled", "killed"]
Run = Annotated[str, typer.Argument(help="Name of a run, a model or a record, or 'latest'.")]
Runs = Annotated[list[str], typer.Argument(help="Names of runs, models or records.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def runs(
    context: typer.Context,
    model: Annotated[str, typer.Option(help="Only runs of this model.")] = "",
    split: Annotated[str, typer.Option(help="Only this split.")] = "",
    subset: Annotated[str, typer.Option(help="Only this subset.")] = "",
    tag: Annotated[str, typer.Option(help="Only runs with this tag.")] = "",
    outcome: Annotated[Outcome | None, typer.Option(help="Only runs that ended so.", show_default="all")] = None,
    text: Annotated[str, typer.Option(help="Only runs with these words in title, name, record, tags or note.")] = "",
    sort: Annotated[Order, typer.Option(help="Order: the latest, best, largest or dearest first.")] = "began",
    reverse: Annotated[bool, typer.Option("--reverse", help="Reverse the order.")] = False,
    archived: Annotated[bool, typer.Option("--archived", help="With archived runs.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Most runs in the table; 0: all.")] = 20,
    store: RecordedStore = "results/store",
    as_json: Json = False,
) -> None:
    """List the runs of a store with score, time and tags, also those that crashed or were cancelled.

    The commands below show, name, tag, archive, delete and repeat a run. See docs/explorer.md.
    """
    if context.invoked_subcommand:
        return
    equal = {"who": model, "split": split, "subset": subset, "outcome": outcome or ""}
    chosen = RunFilter(equal, words=text.lower().split(), tag=tag)
    catalog = Catalog(store)
    version = catalog.version()
    every = catalog.listed(version, archived=archived)
    found = ordered([run for run in every if chosen.fits(run)], f"-{sort}" if reverse else sort)
    if as_json:
        print_line(json_text([run.exported() for run in found]))
        return
    shown = found[: limit or None]
    once = [Column(heading, wrap="never") for heading in ("score, 95 % interval", "began, UTC")]
    if shown:
        print_table(Table.of(("run", *once, "name, tags"), map(_row, shown)))
    rest = f"; --limit 0 lists all {len(found):,}" if len(shown) < len(found) else ""
    if n_archived := 0 if archived else len(version.archived):
        rest += f"; --archived adds {n_archived:,} archived"
    notice(f"{len(shown):,} of {len(every):,} runs in {store}{rest}")


@app.command()
def show(run: Run, store: RecordedStore = "results/store", as_json: Json = False) -> None:
    """Show one run: score, settings, labels, failures by kind, and what to do next."""
    found, failures = _found(store, run), {}
    listed: ListedRun | None
    if isinstance(found, LiveState):
        listed = ListedRun.of_ended(found)
    else:
        listed = Catalog(store).version().by_record.get(found.record)
        failures = {
            row["slice"]: int(row["value"]) for row in reported_run(found).of_lead("sample_count", "failure_kind")
        }
    if listed is None:
        raise ArtifactError(f"run {run}: artifacts are missing: `bigcodeflow catalog --store {store}` names them")
    facts = listed.exported() | {"failures": failures, "out": found.config.get("out", "")}
    if as_json:
        print_line(json_text(facts | {"config": found.config}))
        return
    score = f"{_score(listed)} ({percent_range((listed.ci_low, listed.ci_high))})"
    kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(failures.items(), key=lambda one: -one[1]))
    facts = {name: value for name, value in facts.items() if name not in _IN_SCORE} | {"failures": kinds}
    facts |= {"score": score} if listed.pass_at_k is not None else {}
    rows = [(name.replace("_", " "), cell_text(value)) for name, value in facts.items() if value]
    print_table(Table.of(("", ""), rows, title=listed.title))
    again = f"`bigcodeflow runs retry {listed.record}` runs it again"
    notice(again if listed.outcome != "finished" else f"`bigcodeflow inspect {listed.record}` lists failures; {again}")


@app.command()
def rename(
    run: Run,
    name: Annotated[str, typer.Argument(help="New name; empty restores the one in the settings.")],
    store: RecordedStore = "results/store",
) -> None:
    """Give a run another name, which all commands then accept."""
    _label(store, [run], name=name.strip())


@app.command()
def tag(
    run: Run,
    tags: Annotated[list[str], typer.Argument(help="Tags to add.")],
    remove: Annotated[bool, typer.Option("--remove", help="Remove these tags.")] = False,
    store: RecordedStore = "results/store",
) -> None:
    """Add tags to a run, or remove them."""
    given = [one.strip() for one in tags if one.strip()]
    had = _recorded(store, run).labels.tags
    _label(store, [run], tags=tuple(one for one in had if one not in given) + (() if remove else tuple(given)))


@app.command()
def note(
    run: Run,
    text: Annotated[str, typer.Argument(help="The note; empty removes it.")],
    store: RecordedStore = "results/store",
) -> None:
    """Write a note on a run."""
    _label(store, [run], note=text.strip())


@app.command()
def archive(
    run: Runs,
    undo: Annotated[bool, typer.Option("--undo", help="Bring them back.")] = False,
    store: RecordedStore = "results/store",
) -> None:
    """Leave runs out of lists, boards and 'latest'; nothing is deleted."""
    _label(store, run, archived=not undo)


@app.command()
def delete(
    run: Runs,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: RecordedStore = "results/store",
) -> None:
    """Delete runs: their records, and the artifacts that no other run needs. Answers and result files stay."""
    kept, found = open_store(store), [_found(store, one) for one in run]
    recorded = list({one.record: one for one in found if isinstance(one, RecordedRun)}.values())
    ended = [one for one in found if isinstance(one, LiveState)]
    going, now = removable_with(kept, recorded), datetime.now(UTC)
    print_table(Table.of_records(removed_rows(going)))
    for one in ended:
        print_line(f"{one.outcome} run {one.run_id}: {one.name}")
    folders = filter(None, (one.config.get("out") for one in recorded))
    notice(f"goes: {totals(going)}; stays: answers of models{''.join(f', {folder}' for folder in folders)}")
    if not (yes or typer.confirm("Delete this?")):
        raise typer.Exit(1)
    for one in ended:
        forget_ended(kept.root, one.run_id)
    gone = remove_unused(kept, going, now)
    notice(f"deleted: {totals(gone)}{f', {len(ended):,} without a record' if ended else ''}")


@app.command()
def retry(run: Run, store: RecordedStore = "results/store") -> None:
    """Run the settings of a run again, in this process; finished work is reused."""
    found = _found(store, run)
    if isinstance(found, RecordedRun) and found.imported:
        raise ConfigError(f"run {run} was imported, so it has no settings: start a new run with `bigcodeflow run`")
    if not found.config:  # all defaults would be another run
        raise ConfigError(f"run {run}: its settings were not kept: start it again with `bigcodeflow run`")
    config = validated(RunConfig, found.config, f"settings of run {run}")
    refuse_if_under_way(open_store(store).root, found.config)
    with progress_listener() as listener:
        finished = perform_and_record(config, listener)
    if isinstance(found, LiveState):
        forget_ended(finished.store.root, found.run_id)
    show_results(finished)


def _found(store: str, name: str) -> RecordedRun | LiveState:
    """Return the unrecorded run if only one has an id that begins with ``name``, else the recorded run ``name``."""
    ended = [one for one in ended_runs(open_store(store).root) if one.run_id.startswith(name)]
    return ended[0] if len(ended) == 1 and name else find_run(store, name)


def _recorded(store: str, name: str) -> RecordedRun:
    found = _found(store, name)
    if isinstance(found, LiveState):
        raise ConfigError(f"run {name} {found.outcome}, so it has no record to label: `runs retry` or `runs delete` it")
    return found


def _label(store: str, names: list[str], **changes: Any) -> None:
    """Change the labels of runs, and rebuild the catalog, from which the explorer reads labels."""
    for run in [_recorded(store, name) for name in names]:
        labels = RunLabels.model_validate(run.labels.model_dump() | changes)
        labels.write(run.store, run.record)
        shown = {name: cell_text(value) for name, value in labels if value}
        notice(f"{run.record}: {', '.join(f'{name} {value}' for name, value in shown.items()) or 'no labels'}")
    results.rebuild_catalog(store)


def _row(run: ListedRun) -> tuple[Any, ...]:
    ends = percent_range((run.ci_low, run.ci_high))
    score = f"{_score(run):<7} {ends}" if run.outcome == "finished" else Cell(run.outcome, "bad")
    tags = (*(f"#{tag}" for tag in run.tags), "archived" if run.archived else "")
    about = " ".join(filter(None, (run.own_name, *tags, elided(run.error, _MOST_ERROR))))
    return run.title, score, f"{run.started_at:%b %d %H:%M}", about


def _score(run: ListedRun) -> str:
    if run.pass_at_k is None:
        return ""
    return percent(run.pass_at_k) + (" provisional" if run.provisional else "")
