"""Write a recorded run in the format of another program, or send it to that program. See docs/exporting.md."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.config import Variant
from bigcodeflow.core.errors import PublishingError
from bigcodeflow.core.plugins import loaded_plugins
from bigcodeflow.results.runs import find_run
from bigcodeflow_exports.clients import TrackedRun, log_to_mlflow, log_to_wandb
from bigcodeflow_exports.every_eval_ever import Evaluator, Relationship, write_every_eval_ever
from bigcodeflow_exports.exported_run import ExportedRun, exported_run
from bigcodeflow_exports.inspect_log import write_inspect_log
from bigcodeflow_exports.model_repository import propose_eval_results
from bigcodeflow_leaderboard.measured_entries import Allowance

app = typer.Typer(help=__doc__, no_args_is_help=True)
_FOLDER = Path("results/exports")
_STORE = "results/store"
_PROJECT = "bigcodebench"
Run = Annotated[str, typer.Argument(help="Name of a run, a model or a record, or 'latest'.")]
Folder = Annotated[Path, typer.Option("--out", help="Folder for files.")]
ExportVariant = Annotated[
    Variant | None, typer.Option(help="Export this variant.", show_default="calibrated, where the run has it")
]
Samples = Annotated[
    bool, typer.Option("--samples/--no-samples", help="With every prompt, answer and program, or scores alone.")
]


@app.command("inspect")
def inspect_log(
    run: Run,
    out: Folder = _FOLDER,
    variant: ExportVariant = None,
    samples: Samples = True,
    store: RecordedStore = _STORE,
) -> None:
    """Write an `.eval` log of Inspect, the evaluation framework."""
    with opened(store, run, variant) as found:
        print_line(write_inspect_log(found, out, samples=samples))


@app.command()
def every_eval_ever(
    run: Run,
    out: Folder = _FOLDER,
    variant: ExportVariant = None,
    samples: Samples = True,
    store: RecordedStore = _STORE,
    organization: Annotated[str, typer.Option(help="Evaluator's organization.", show_default="unknown")] = "",
    relationship: Annotated[Relationship, typer.Option(help="Its relationship to the model's developer.")] = "other",
) -> None:
    """Write the JSON files of Every Eval Ever's datastore."""
    who = Evaluator(organization, relationship)
    with opened(store, run, variant) as found:
        for path in write_every_eval_ever(found, out, evaluator=who, samples=samples):
            print_line(path)


@app.command()
def hub(
    run: Run,
    repository: Annotated[
        str, typer.Option(help="The model's repository, OWNER/NAME.", show_default="the run's model")
    ] = "",
    publish: Annotated[
        bool, typer.Option("--publish", help="Open the pull request. Reads HF_TOKEN, HF_ENDPOINT.")
    ] = False,
    allow: Annotated[
        list[Allowance] | None,
        typer.Option(help="Propose the score in spite of this shortcoming; repeatable."),
    ] = None,
    store: RecordedStore = _STORE,
) -> None:
    """Propose the calibrated score as `.eval_results` of the model's repository on the Hugging Face Hub.

    Nothing is sent without --publish: the files that the pull request would have are shown.
    """
    proposal = propose_eval_results(find_run(store, run), repository, allow=allow or [], publish=publish)
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


@app.command()
def mlflow(
    run: Run,
    tracking_uri: Annotated[str, typer.Option(help="MLflow server or database.", envvar="MLFLOW_TRACKING_URI")] = "",
    project: Annotated[str, typer.Option(help="Experiment.")] = _PROJECT,
    variant: ExportVariant = None,
    samples: Samples = True,
    store: RecordedStore = _STORE,
) -> None:
    """Log a run to MLflow, with its samples as a table."""
    with opened(store, run, variant) as found:
        _tell(log_to_mlflow(found, tracking_uri=tracking_uri, experiment=project, samples=samples))


@app.command()
def wandb(
    run: Run,
    entity: Annotated[str, typer.Option(help="User or team.", show_default="your own")] = "",
    project: Annotated[str, typer.Option(help="Project.")] = _PROJECT,
    offline: Annotated[bool, typer.Option("--offline", help="Keep the run in --out, for `wandb sync`.")] = False,
    out: Folder = _FOLDER,
    variant: ExportVariant = None,
    samples: Samples = True,
    store: RecordedStore = _STORE,
) -> None:
    """Log a run to Weights & Biases, with its samples as a table."""
    with opened(store, run, variant) as found:
        _tell(log_to_wandb(found, project=project, entity=entity, offline=offline, folder=out, samples=samples))


def _tell(tracked: TrackedRun) -> None:
    print_line(tracked.place)
    if not tracked.is_new:
        notice("this run was logged before: nothing was changed")


@contextmanager
def opened(store: str, run: str, variant: Variant | None) -> Iterator[ExportedRun]:
    """Open a run for export; after the export, print notices about the run, such as unjudged samples."""
    with exported_run(find_run(store, run), variant or "") as found:
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


# Formats that other distributions add.
for _name, _command in loaded_plugins("bigcodeflow.exporters").items():
    app.command(_name)(_command)
