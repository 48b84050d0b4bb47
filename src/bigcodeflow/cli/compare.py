"""`bigcodeflow compare`: recorded runs against one another on the same tasks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from bigcodeflow.cli.console import notice, out
from bigcodeflow.cli.options import RecordedSanitizer, RecordedStore, RecordedVariant, TableFormat, whole_numbers
from bigcodeflow.results.comparison import By

if TYPE_CHECKING:
    from bigcodeflow.results.comparison import Comparison

_MORE = (
    "Every test, the ratings without ties, settings, rates and costs: --all. Everything, names in full: --format json, "
    "or --html FILE with each sample."
)


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN RUN [RUN ...]",
            help="Runs of the store by record, name, title or model, or 'latest'; RUN@raw or RUN@robust chooses a "
            "variant or sanitizer of one run.",
            show_default=False,
        ),
    ],
    store: RecordedStore = "results/store",
    variant: RecordedVariant = "calibrated",
    sanitizer: RecordedSanitizer = None,
    k: Annotated[str, typer.Option(help="Compare pass@k for these k, as far as there are samples.")] = "1,5,10",
    by: Annotated[
        list[By] | None,
        typer.Option(help="Also compare by domain, library, number of libraries, prompt length or subset; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap; the same seed gives the same digits.")] = 0,
    rounds: Annotated[
        int, typer.Option(min=100, max=1_000_000, help="Rounds of the bootstrap and of the sign-flip test.")
    ] = 10_000,
    mid_p: Annotated[bool, typer.Option("--mid-p", help="Take McNemar's mid-p instead of the exact p.")] = False,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="Also list the tasks that only one run solves, that all or none solve.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Print every table: each pair's test, ratings without ties, settings, rates, usage."
        ),
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write the comparison, with every sample, as one HTML file.")
    ] = None,
    output: Annotated[TableFormat, typer.Option("--format", help="How to write the comparison.")] = "table",
) -> None:
    """Compare runs on the tasks that they share: differences with 95 % intervals, tests, ratings, costs.

    Runs of several subsets are compared and not ranked, those of several splits refused.

    Every number comes from the store: nothing is executed. docs/statistics.md says how each is computed.
    """
    from bigcodeflow.results import comparison as library
    from bigcodeflow.results.comparison.text_tables import tables, to_markdown

    compared = library.open_runs(store, runs, variant=variant, sanitizer=sanitizer or "")
    method = library.Method(seed=seed, rounds=rounds, mid_p=mid_p)
    found = library.compare(
        compared, k=whole_numbers("--k", k, positive=True), by=tuple(dict.fromkeys(by or ())), method=method
    )
    if html:
        from bigcodeflow.report import select_runs, write_report

        recorded = select_runs(store, [subject.record for subject in found.subjects])
        written = write_report(recorded, html, comparison=found)
        notice(f"wrote {written.path} ({written.size_bytes / 1e6:.1f} MB)")
    if output == "table":
        for note in found.notes:
            out.print(Text(note, style="yellow"))
        for table in tables(found, tasks=tasks, brief=not everything):
            out.print(table)
        if not everything:
            out.print(Text(_MORE, style="dim"))
    elif output == "markdown":
        typer.echo(to_markdown(found, tasks=tasks))
    else:
        _record(found, output)


def _record(found: "Comparison", output: TableFormat) -> None:
    from bigcodeflow.results.comparison.comparison import to_csv, to_json

    if output == "json":
        typer.echo(to_json(found))
        return
    for note in found.notes:  # a CSV file has no place for them
        notice(note)
    typer.echo(to_csv(found), nl=False)
