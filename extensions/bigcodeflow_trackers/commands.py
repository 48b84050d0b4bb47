"""The commands, entry points of the group ``bigcodeflow.exporters``."""

from typing import Annotated

import typer

from bigcodeflow.cli.console import notice, print_line
from bigcodeflow.cli.export_options import FOLDER, STORE, Folder, Run, Samples, VariantOption, opened
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow_trackers.clients import TrackedRun, log_to_mlflow, log_to_wandb

_PROJECT = "bigcodebench"


def mlflow(
    run: Run,
    tracking_uri: Annotated[str, typer.Option(help="MLflow server or database.", envvar="MLFLOW_TRACKING_URI")] = "",
    project: Annotated[str, typer.Option(help="Experiment.")] = _PROJECT,
    variant: VariantOption = None,
    samples: Samples = True,
    store: RecordedStore = STORE,
) -> None:
    """Log a run to MLflow, with its samples as a table."""
    with opened(store, run, variant) as found:
        _tell(log_to_mlflow(found, tracking_uri=tracking_uri, experiment=project, samples=samples))


def wandb(
    run: Run,
    entity: Annotated[str, typer.Option(help="User or team.", show_default="your own")] = "",
    project: Annotated[str, typer.Option(help="Project.")] = _PROJECT,
    offline: Annotated[bool, typer.Option("--offline", help="Keep the run in --out, for `wandb sync`.")] = False,
    out: Folder = FOLDER,
    variant: VariantOption = None,
    samples: Samples = True,
    store: RecordedStore = STORE,
) -> None:
    """Log a run to Weights & Biases, with its samples as a table."""
    with opened(store, run, variant) as found:
        _tell(log_to_wandb(found, project=project, entity=entity, offline=offline, folder=out, samples=samples))


def _tell(tracked: TrackedRun) -> None:
    print_line(tracked.place)
    if not tracked.is_new:
        notice("was logged there before: nothing was changed")
