"""Write a recorded run in the format of another program, or send it there. See docs/exporting.md."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from bigcodeflow import exporting
from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.options import ExportFolder, ExportRun, ExportSamples, ExportVariant, RecordedStore
from bigcodeflow.config import Variant
from bigcodeflow.core.errors import PublishingError
from bigcodeflow.exporting import ExportedRun, Relationship
from bigcodeflow.leaderboard.measured_entries import Allowance
from bigcodeflow.results.runs import find_run

app = typer.Typer(help=__doc__, no_args_is_help=True)
_FOLDER = Path("results/exports")
_STORE = "results/store"


@app.command("inspect")
def inspect_log(
    run: ExportRun,
    out: ExportFolder = _FOLDER,
    variant: ExportVariant = None,
    samples: ExportSamples = True,
    store: RecordedStore = _STORE,
) -> None:
    """Write an `.eval` log of Inspect, the evaluation framework."""
    with opened(store, run, variant) as found:
        print_line(exporting.write_inspect_log(found, out, samples=samples))


@app.command()
def every_eval_ever(
    run: ExportRun,
    out: ExportFolder = _FOLDER,
    variant: ExportVariant = None,
    samples: ExportSamples = True,
    store: RecordedStore = _STORE,
    organization: Annotated[str, typer.Option(help="Who ran the evaluation.", show_default="unknown")] = "",
    relationship: Annotated[Relationship, typer.Option(help="Of who ran it to the model's developer.")] = "other",
) -> None:
    """Write the JSON files of Every Eval Ever's datastore."""
    who = exporting.Evaluator(organization, relationship)
    with opened(store, run, variant) as found:
        for path in exporting.write_every_eval_ever(found, out, evaluator=who, samples=samples):
            print_line(path)


@app.command()
def hub(
    run: ExportRun,
    repository: Annotated[
        str, typer.Option(help="The model's repository, OWNER/NAME.", show_default="the run's model")
    ] = "",
    publish: Annotated[
        bool, typer.Option("--publish", help="Open the pull request. Reads HF_TOKEN, HF_ENDPOINT.")
    ] = False,
    allow: Annotated[
        list[Allowance] | None,
        typer.Option(help="Propose a score although this is wrong with it; repeatable."),
    ] = None,
    store: RecordedStore = _STORE,
) -> None:
    """Propose the calibrated score as `.eval_results` of the model's repository on the Hugging Face Hub.

    Nothing is sent without --publish: the files that the pull request would have are shown.
    """
    proposal = exporting.propose_eval_results(find_run(store, run), repository, allow=allow or [], publish=publish)
    if not publish:
        for path, text in proposal.files.items():
            print_line(f"# {path}")
            typer.echo(text, nl=False)
        notice(f"nothing was sent: with --publish, a pull request to {proposal.repository} has these files")
    elif not proposal.pull_request:
        notice(f"{proposal.repository} holds these results already: nothing to do")
    else:
        print_line(proposal.pull_request)
        if not proposal.is_new:
            notice("a pull request of this title is open already: nothing was sent; close it to open another")


@contextmanager
def opened(store: str, run: str, variant: Variant | None) -> Iterator[ExportedRun]:
    """Open a run for export; after the export, print notices about it for the reader."""
    with exporting.exported_run(find_run(store, run), variant or "") as found:
        try:
            yield found
        except OSError as error:
            problem = f"nothing can be written to {error.filename} ({error.strerror or error})"
            raise PublishingError(f"{problem}: name another --out") from None
        notice(f"{found.recorded.title}, record {found.recorded.record}, {found.variant}")
        if found.recorded.imported:
            notice("imported: what its result file does not state is left out")
        if count := int(found.counts.get("n_unjudged", 0)):
            notice(f"{count:,} of its samples were not judged: the score is provisional, run it again")


for _format in sorted(entry_points(group="bigcodeflow.exporters")):
    app.command(_format.name)(_format.load())
