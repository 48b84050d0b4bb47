"""`bigcodeflow compare`: recorded runs against one another on the same tasks."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from bigcodeflow.cli.console import Elided, notices, out
from bigcodeflow.cli.options import RecordedSanitizer, RecordedStore, RecordedVariant, Variant
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.results.comparison import By

if TYPE_CHECKING:
    from rich.console import JustifyMethod

    from bigcodeflow.results.comparison import Comparison
    from bigcodeflow.results.comparison.text_tables import Sheet

_MORE = (
    "Every test, the ratings without ties, settings, rates and costs: --all. Everything, names in full: --format json, "
    "or --html FILE with each sample."
)

#: Columns of words; all others but a table's first are numbers.
_WORDS = frozenset({"run", "variant", "sanitizer", "subset", "split", "record", "pair", "verdict"})


class Format(StrEnum):
    """How a comparison is written."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


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
    store: RecordedStore = Path("results/store"),
    variant: RecordedVariant = Variant.calibrated,
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
    output: Annotated[Format, typer.Option("--format", help="How to write the comparison.")] = Format.table,
) -> None:
    """Compare runs on the tasks that they share: differences with 95 % intervals, tests, ratings, costs.

    Runs of several subsets are compared and not ranked, those of several splits refused.

    Every number comes from the store: nothing is executed. docs/statistics.md says how each is computed.
    """
    from bigcodeflow.results import comparison as library
    from bigcodeflow.results.comparison.text_tables import markdown, sheets

    chosen = sanitizer.value if sanitizer else ""
    compared = library.open_runs(store, runs, variant=variant.value, sanitizer=chosen)
    method = library.Method(seed=seed, rounds=rounds, mid_p=mid_p)
    found = library.compare(compared, k=_numbers(k), by=tuple(dict.fromkeys(by or ())), method=method)
    if html:
        _write_html(store, found, html)
    if output is Format.table:
        _show(sheets(found, tasks=tasks, brief=not everything), found.notes)
        if not everything:
            out.print(Text(_MORE, style="dim"))
    elif output is Format.markdown:
        typer.echo(markdown(sheets(found, tasks=tasks), found.notes))
    else:
        _record(found, output)


def _show(made: Sequence["Sheet"], notes: Sequence[str]) -> None:
    for note in notes:
        out.print(Text(note, style="yellow"))
    for sheet in made:
        out.print(Text(sheet.title, style="bold"))  # as the table's own title it would be folded to the table's width
        table = Table()
        for place, heading in enumerate(sheet.headings):
            justify: JustifyMethod = "left" if place == 0 or heading in _WORDS else "right"
            table.add_column(Text(heading), overflow="fold", justify=justify)
        for row in sheet.rows:
            # Numbers tell the rows apart where a name has to be cut.
            cells = zip(sheet.headings, row, strict=True)
            table.add_row(*(Elided(cell) if name in {"run", "record"} else Text(cell) for name, cell in cells))
        out.print(table)


def _write_html(store: Path, found: "Comparison", path: Path) -> None:
    from bigcodeflow.report import select_runs, write_report

    runs = select_runs(store, [subject.record for subject in found.subjects])
    written = write_report(runs, path, comparison=found)
    notices.print(f"wrote {written.path} ({written.size_bytes / 1e6:.1f} MB)", soft_wrap=True, markup=False)


def _record(found: "Comparison", output: Format) -> None:
    from bigcodeflow.results.comparison.comparison import to_csv, to_json

    if output is Format.json:
        typer.echo(to_json(found))
        return
    for note in found.notes:  # a CSV file has no place for them
        notices.print(note, markup=False, soft_wrap=True)
    typer.echo(to_csv(found), nl=False)


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ConfigError(f"--k {text!r} is not a list of positive whole numbers: write it as 1,5,10")
    return numbers
