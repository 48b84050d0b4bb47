"""`bigcodeflow report`: recorded runs as one HTML file."""

from pathlib import Path
from typing import Annotated

import typer

from bigcodeflow.cli.console import notices, out
from bigcodeflow.cli.options import RecordedStore


def report(
    runs: Annotated[
        list[str], typer.Argument(help="Name of a run, a record or a model; 'latest'; or a pattern such as 'sweep+*'.")
    ],
    store: RecordedStore = Path("results/store"),
    out_file: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("results/report.html"),
    open_browser: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Write one HTML file about a run, a sweep or a comparison: scores, charts, and every sample with its traces.

    The file needs no network and sends nothing: it can be mailed, archived and opened anywhere.
    """
    from bigcodeflow.report import select_runs, write_report

    written = write_report(select_runs(store, runs), out_file)
    out.print(str(written.path), soft_wrap=True, highlight=False, markup=False)
    limit = written.text_limit
    cut = (
        f"; texts of samples are cut at {limit.failed:,} characters, of those that pass at {limit.passed:,}"
        if written.texts_were_cut
        else ""
    )
    notices.print(f"{written.size_bytes / 1e6:.1f} MB{cut}", soft_wrap=True)
    if open_browser:
        _show(written.path)


def _show(path: Path) -> None:
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        notices.print(f"no browser could be started: open {path} in one", soft_wrap=True, markup=False)
