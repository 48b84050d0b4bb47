"""`bigcodeflow catalog`: the DuckDB database over a store, built anew and explained."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bigcodeflow.cli.console import notices, out
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.core.errors import ArtifactError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bigcodeflow.results.catalog import Description, LeftOut


def catalog(
    view: Annotated[str, typer.Argument(help="Explain the columns of this view, such as pass_at_k.")] = "",
    store: RecordedStore = Path("results/store"),
) -> None:
    """Build the catalog of a store anew, and say where it is and what it shows.

    Every run does so at its end; this is for a store that was moved, copied or thinned out. Open the file with any
    DuckDB client (duckdb -readonly FILE) or the DuckDB UI.
    """
    from bigcodeflow.results.catalog import describe_catalog, rebuild_catalog
    from bigcodeflow.store import open_store

    kept = open_store(store)
    if kept.location == str(kept.root) and not kept.root.is_dir():
        raise ArtifactError(f"{kept.location}: there is no store: run a model first, or name one with --store")
    path = rebuild_catalog(store)
    views, left_out = describe_catalog(path)
    shown = _columns_of(views, view) if view else _table(views)
    out.print(str(path), markup=False, highlight=False, soft_wrap=True)
    out.print(shown)
    _say_left_out(left_out)


def _table(views: "Sequence[Description]") -> Table:
    table = Table("view", "what it shows")
    for one in views:
        table.add_row(f"[bold]{one.name}[/bold]", escape(one.grain.removeprefix("Grain: ")))
    return table


def _columns_of(views: "Sequence[Description]", name: str) -> Table:
    found = next((one for one in views if one.name == name), None)
    if found is None:
        known = ", ".join(one.name for one in views)
        raise ArtifactError(f"the catalog has no view {name!r}; it has {known}")
    table = Table("column", "type", "meaning", title=found.grain, title_justify="left", title_style="bold")
    for column in found.columns:
        table.add_row(f"[bold]{column.name}[/bold]", escape(column.type), escape(column.meaning))
    return table


def _say_left_out(left_out: "Sequence[LeftOut]") -> None:
    for one in left_out:
        notices.print("[yellow]left out:[/yellow]", end=" ")
        owner = f"run {one.record}: its" if one.record else "of no run:"
        notices.print(f"{owner} {one.artifact} artifact {one.key} {one.reason}", markup=False, soft_wrap=True)
    if left_out:
        notices.print("run these again to have them back, or delete their records in the store's runs folder")
