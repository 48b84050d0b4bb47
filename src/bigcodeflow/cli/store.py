"""`bigcodeflow catalog`, `report`, `explore` and `clean`: a store's database, reports, web pages and clean-up."""

import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bigcodeflow.cli.console import notice, notices, out, print_line, print_table
from bigcodeflow.cli.options import RecordedStore, settings_options
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.listening import is_loopback
from bigcodeflow.core.settings import validated
from bigcodeflow.core.table import Cell, Table
from bigcodeflow.pipeline.retention import RetentionConfig, removable, remove, removed_rows, totals
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.catalog.description import describe_catalog
from bigcodeflow.store import open_store
from bigcodeflow.studies import sections_of


def catalog(
    view: Annotated[str, typer.Argument(help="Explain the columns of this view, such as pass_at_k.")] = "",
    store: RecordedStore = "results/store",
) -> None:
    """Rebuild the catalog of a store, and show its path and its views.

    Every run rebuilds the catalog at its end; use this command for a store that was moved, copied or cleaned up. Open
    the file with any DuckDB client (duckdb -readonly FILE) or the DuckDB UI. Missing or damaged artifacts are named.
    See docs/formats.md.
    """
    kept = open_store(store)
    if kept.location == str(kept.root) and not kept.root.is_dir():
        raise ArtifactError(f"{kept.location}: there is no store: run a model first, or name another with --store")
    path = rebuild_catalog(store)
    views, left_out = describe_catalog(path)
    if view:
        known = {one.name: one for one in views}
        if view not in known:
            raise ArtifactError(f"the catalog has no view {view!r}: name one of {', '.join(known)}")
        columns = [(Cell(column.name, "strong"), column.type, column.meaning) for column in known[view].columns]
        shown = Table.of(("column", "type", "meaning"), columns, title=known[view].grain)
    else:
        grains = [(Cell(one.name, "strong"), one.grain.removeprefix("Grain: ")) for one in views]
        shown = Table.of(("view", "what it shows"), grains)
    print_line(path)
    out.print(shown)
    for one in left_out:
        notices.print("[yellow]left out:[/yellow]", end=" ")
        owner = f"run {one.record}: its" if one.record else "of no run:"
        notice(f"{owner} {one.artifact} artifact {one.key} {one.reason}")
    if left_out:
        notices.print("run the named runs again to restore these, or delete their records in the store's runs folder")


def report(
    runs: Annotated[
        list[str], typer.Argument(help="Name of a run, a record or a model; 'latest'; or a pattern such as 'sweep+*'.")
    ],
    store: RecordedStore = "results/store",
    out_file: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("results/report.html"),
    open_browser: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Write one HTML file about a run, a sweep or a comparison: scores, charts, and every sample with its traces.

    The file needs no network and sends nothing: it can be mailed, archived and opened anywhere. See docs/report.md.
    """
    selected = select_runs(store, runs)
    about = sections_of(open_store(store), [run.recorded for run in selected])
    written = write_report(selected, out_file, sections=about)
    print_line(written.path)
    limit, address = written.text_limit, written.path.resolve().as_uri()
    cut = f"; texts of samples are cut at {limit.failed:,} characters, of those that pass at {limit.passed:,}"
    notice(f"{address}  ({written.size_bytes / 1e6:.1f} MB{cut if written.texts_were_cut else ''})")
    if open_browser:
        _open(address)


def explore(
    store: RecordedStore = "results/store",
    host: Annotated[
        str, typer.Option(help="Address to listen on; whoever reaches it can read every run, prompt and answer.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 4280,
    open_browser: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Show a store in the browser: recorded runs, runs in progress, trends, comparisons, samples.

    Its buttons label, cancel, retry and delete runs. Ctrl-C ends the command. `bigcodeflow up` starts an explorer too,
    with the Prefect UI. See docs/explorer.md.
    """
    from bigcodeflow.explorer import server

    def ready(url: str) -> None:
        print_line(url)
        notice(f"runs of {store}; Ctrl-C stops")
        if not is_loopback(host):
            notice(f"the explorer has no password: everyone who can reach {host} can read these runs")
        if open_browser:
            _open(url)

    server.explore(store, host=host, port=port, ready=ready)


def _open(address: str) -> None:
    if not webbrowser.open(address):
        notice(f"no browser could be started: open {address} yourself")


@settings_options("store", "older_than_days", "keep_runs_per_name", "answers", model=RetentionConfig)
def clean(
    given: dict[str, Any],
    delete: Annotated[bool, typer.Option("--delete", help="Really remove it. Else it is only listed.")] = False,
) -> None:
    """List what can be deleted from a store; with --delete, delete it.

    That is: artifacts that no recorded run needs, unfinished work that nobody has continued, and, if requested, old run
    records and answers. Artifacts that runs in progress use are kept. See docs/sweeps.md.
    """
    config = validated(RetentionConfig, {**given, "dry_run": not delete}, "command line")
    now = datetime.now(UTC)
    found = removable(config, now)
    gone = remove(config, found, now) if delete else found
    print_table(Table.of_records(removed_rows(gone)))
    notice(f"{'removed' if delete else 'may go'}: {totals(gone)}")
    if gone and not delete:
        notices.print("nothing was removed: add --delete to remove this")
