"""The commands, entry points of the group ``bigcodeflow.exporters``."""

from pathlib import Path
from typing import Annotated

import typer

from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.options import ExportFolder, ExportRun, ExportSamples, ExportVariant, RecordedStore
from bigcodeflow_trackers.clients import TrackedRun, log_to_mlflow, log_to_wandb

_PROJECT = "bigcodebench"


def mlflow(
    run: ExportRun,
    tracking_uri: Annotated[str, typer.Option(help="MLflow server or database.", envvar="MLFLOW_TRACKING_URI")] = "",
    project: Annotated[str, typer.Option(help="Experiment.")] = _PROJECT,
    variant: ExportVariant = None,
    samples: ExportSamples = True,
    store: RecordedStore = "results/store",
) -> None:
    """Log a run to MLflow, with its samples as a table."""
    from bigcodeflow.cli.export import opened  # which loads this module

    with opened(store, run, variant) as found:
        _tell(log_to_mlflow(found, tracking_uri=tracking_uri, experiment=project, samples=samples))


def wandb(
    run: ExportRun,
    entity: Annotated[str, typer.Option(help="User or team.", show_default="your own")] = "",
    project: Annotated[str, typer.Option(help="Project.")] = _PROJECT,
    offline: Annotated[bool, typer.Option("--offline", help="Keep the run in --out, for `wandb sync`.")] = False,
    out: ExportFolder = Path("results/exports"),
    variant: ExportVariant = None,
    samples: ExportSamples = True,
    store: RecordedStore = "results/store",
) -> None:
    """Log a run to Weights & Biases, with its samples as a table."""
    from bigcodeflow.cli.export import opened  # which loads this module

    with opened(store, run, variant) as found:
        _tell(log_to_wandb(found, project=project, entity=entity, offline=offline, folder=out, samples=samples))


def _tell(tracked: TrackedRun) -> None:
    print_line(tracked.place)
    if not tracked.is_new:
        notice("was logged there before: nothing was changed")
