"""Options that the commands of `bigcodeflow export` share, those of plug-ins included, and the run that they export."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bigcodeflow import exporting
from bigcodeflow.cli.console import notice
from bigcodeflow.config import Variant
from bigcodeflow.core.errors import PublishingError
from bigcodeflow.results.runs import find_run

Run = Annotated[str, typer.Argument(help="Name of a run, a model or a record, or 'latest'.")]
Folder = Annotated[Path, typer.Option("--out", help="Folder for files.")]
VariantOption = Annotated[
    Variant | None, typer.Option(help="Export this variant.", show_default="calibrated, where the run has it")
]
Samples = Annotated[
    bool, typer.Option("--samples/--no-samples", help="With every prompt, answer and program, or scores alone.")
]
FOLDER = Path("results/exports")
STORE = "results/store"


@contextmanager
def opened(store: str, run: str, variant: Variant | None) -> Iterator[exporting.ExportedRun]:
    """Open a run for export; after the export, print notices about it for the reader."""
    with exporting.exported_run(find_run(store, run), variant or "") as found:
        try:
            yield found
        except OSError as error:
            reason = error.strerror or error
            raise PublishingError(
                f"nothing can be written to {error.filename} ({reason}): name another --out"
            ) from None
        notice(f"{found.recorded.title}, record {found.recorded.record}, {found.variant}")
        if found.recorded.imported:
            notice("imported: what its result file does not state is left out")
        if count := int(found.counts.get("n_unjudged", 0)):
            notice(f"{count:,} of its samples were not judged: the score is provisional, run it again")
