"""`bigcodeflow export`: a recorded run in the formats of other programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from bigcodeflow import exporting
from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.config import Variant
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.exporting import ExportedRun, Relationship
from bigcodeflow.leaderboard.measured_entries import Allowance
from bigcodeflow.results.runs import RecordedRun, find_run

_HUB, _TRACKERS, _EEE = "Hugging Face Hub", "MLflow and Weights & Biases", "Every Eval Ever"

Format = Literal["inspect", "every-eval-ever", "hub", "mlflow", "wandb"]


def export(
    run: Annotated[str, typer.Argument(help="Name of a run, a model or a record, or 'latest'.")],
    output: Annotated[
        Format,
        typer.Option(
            "--format",
            help="'inspect': an .eval log. 'every-eval-ever': its JSON files. 'hub': .eval_results of the model's "
            "repository. 'mlflow', 'wandb': a run in that tracker.",
        ),
    ],
    folder: Annotated[Path, typer.Option("--out", help="Folder for files.")] = Path("results/exports"),
    variant: Annotated[
        Variant | None, typer.Option(help="Export this variant.", show_default="calibrated, where the run has it")
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples/--no-samples", help="With every prompt, answer and program, or scores alone.")
    ] = True,
    store: RecordedStore = "results/store",
    repository: Annotated[
        str,
        typer.Option(help="The model's repository, OWNER/NAME.", show_default="the run's model", rich_help_panel=_HUB),
    ] = "",
    publish: Annotated[
        bool,
        typer.Option("--publish", help="Open the pull request. Reads HF_TOKEN, HF_ENDPOINT.", rich_help_panel=_HUB),
    ] = False,
    allow: Annotated[
        list[Allowance] | None,
        typer.Option(help="Propose a score although this is wrong with it; repeatable.", rich_help_panel=_HUB),
    ] = None,
    project: Annotated[
        str, typer.Option(help="MLflow's experiment, or the W&B project.", rich_help_panel=_TRACKERS)
    ] = "bigcodebench",
    entity: Annotated[
        str, typer.Option(help="W&B user or team.", show_default="your own", rich_help_panel=_TRACKERS)
    ] = "",
    tracking_uri: Annotated[
        str, typer.Option(help="MLflow server or database.", envvar="MLFLOW_TRACKING_URI", rich_help_panel=_TRACKERS)
    ] = "",
    offline: Annotated[
        bool, typer.Option("--offline", help="Keep the W&B run in --out, for `wandb sync`.", rich_help_panel=_TRACKERS)
    ] = False,
    organization: Annotated[
        str, typer.Option(help="Who ran the evaluation.", show_default="unknown", rich_help_panel=_EEE)
    ] = "",
    relationship: Annotated[
        Relationship, typer.Option(help="Of who ran it to the model's developer.", rich_help_panel=_EEE)
    ] = "other",
) -> None:
    """Write a recorded run in the format of another program, or send it there. See docs/exporting.md.

    Nothing is sent to the hub without --publish: the files that the pull request would have are shown.
    """
    recorded = find_run(store, run)
    if publish and output != "hub":
        raise ConfigError(f"--publish opens a pull request on the hub: use it with --format hub, not {output}")
    if output == "hub":
        if variant == "raw":
            raise ConfigError("--format hub proposes the calibrated score: leave --variant out")
        _propose(recorded, repository, allow or [], publish=publish)
        return
    with exporting.exported_run(recorded, variant or "") as found:
        if output == "inspect":
            print_line(exporting.write_inspect_log(found, folder, samples=samples))
        elif output == "every-eval-ever":
            who = exporting.Evaluator(organization, relationship)
            for path in exporting.write_every_eval_ever(found, folder, evaluator=who, samples=samples):
                print_line(path)
        elif output == "mlflow":
            _tell(exporting.log_to_mlflow(found, tracking_uri=tracking_uri, experiment=project, samples=samples))
        else:
            _tell(
                exporting.log_to_wandb(
                    found, project=project, entity=entity, offline=offline, folder=folder, samples=samples
                )
            )
        _notices(found)


def _notices(run: ExportedRun) -> None:
    notice(f"{run.recorded.title}, record {run.recorded.record}, {run.variant}")
    if run.recorded.imported:
        notice("imported: what its result file does not state is left out")
    if count := int(run.counts.get("n_unjudged", 0)):
        notice(f"{count:,} of its samples were not judged: the score is provisional, run it again")


def _tell(tracked: exporting.TrackedRun) -> None:
    print_line(tracked.place)
    if not tracked.is_new:
        notice("was logged there before: nothing was changed")


def _propose(run: RecordedRun, repository: str, allow: list[Allowance], *, publish: bool) -> None:
    proposal = exporting.propose_eval_results(run, repository, allow=allow, publish=publish)
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
