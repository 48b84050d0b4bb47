"""Logging of a run to an experiment tracker: MLflow or Weights & Biases, through their own clients."""

import hashlib
import importlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow.core.errors import ConfigError, PublishingError, error_message
from bigcodeflow.results.inspection.samples import SampleDetail
from bigcodeflow_exports.exported_run import ExportedRun

#: Columns of the sample table that trackers receive.
SAMPLE_COLUMNS = ("task_id", "sample_index", "status", "failure_kind", "prompt", "answer", "program", "failures")
_RECORD_TAG = "bigcodeflow.record"
#: Most parameters and tags that MLflow takes in one request.
_MLFLOW_BATCH = 100
_LONGEST_PARAMETER = 6_000
#: Longest tag that W&B accepts, in characters.
_LONGEST_TAG = 64


class TrackedRun(NamedTuple):
    """Location of a run in an experiment tracker."""

    place: str
    """URL of the run; for a run that is kept on this machine, its id or folder."""
    is_new: bool
    """True if this call logged the run; False if the tracker had it before, and nothing was changed."""


def log_to_mlflow(
    run: ExportedRun, *, tracking_uri: str = "", experiment: str = "bigcodebench", samples: bool = True
) -> TrackedRun:
    """Log a run to MLflow, once only: settings as parameters, scores as metrics, samples as an artifact.

    Args:
        run: recorded run, as `exported_run` opens it.
        tracking_uri: URI of MLflow's server or database; empty takes MLFLOW_TRACKING_URI or MLflow's default.
        experiment: name of the experiment, which is created if it is missing.
        samples: log prompts, answers and programs too.
    """
    # By default, MLflow's client tries for minutes to reach a server that does not answer.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    mlflow: Any = _package("mlflow", "mlflow")
    entities: Any = _package("mlflow.entities", "mlflow")
    # MLflow's client prints the run's URL on standard output.
    with redirect_stdout(sys.stderr), _tracker_errors("MLflow", mlflow.exceptions.MlflowException):
        client = mlflow.tracking.MlflowClient(tracking_uri or None)
        found = client.get_experiment_by_name(experiment)
        experiment_id = found.experiment_id if found else client.create_experiment(experiment)
        identity = _identity(run)
        wanted = f"tags.`{_RECORD_TAG}` = '{identity}'"
        before = client.search_runs([experiment_id], filter_string=wanted, max_results=1)
        if before:
            return TrackedRun(_mlflow_place(client, experiment_id, before[0].info.run_id), is_new=False)
        started, finished = _moments(run)
        tags = {"mlflow.runName": f"{run.recorded.title} · {run.variant}", "mlflow.source.name": "bigcodeflow"}
        made = client.create_run(experiment_id, start_time=_milliseconds(started), tags=tags)
        run_id = made.info.run_id
        moment = _milliseconds(finished)
        metrics = [
            # MLflow allows no @ in a metric's name.
            entities.Metric(name.replace("@", "_at_"), value, moment, 0)
            for name, value in run.scores.items()
            if math.isfinite(value)
        ]
        texts = {name: str(value)[:_LONGEST_PARAMETER] for name, value in _settings(run).items()}
        parameters = [entities.Param(name, text) for name, text in texts.items()]
        for start in range(0, max(len(metrics), len(parameters)), _MLFLOW_BATCH):
            part = slice(start, start + _MLFLOW_BATCH)
            client.log_batch(run_id, metrics=metrics[part], params=parameters[part])
        if samples:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "samples.jsonl"
                path.write_text(
                    "".join(json.dumps(row) + "\n" for row in map(_sample_row, run.samples())), encoding="utf-8"
                )
                client.log_artifact(run_id, str(path))
        # The tag comes last: an interrupted run lacks it and is logged again.
        client.set_tag(run_id, _RECORD_TAG, identity)
        client.set_terminated(run_id, end_time=moment)
        return TrackedRun(_mlflow_place(client, experiment_id, run_id), is_new=True)


def log_to_wandb(
    run: ExportedRun,
    *,
    project: str = "bigcodebench",
    entity: str = "",
    offline: bool = False,
    folder: Path = Path("results"),
    samples: bool = True,
) -> TrackedRun:
    """Log a run to Weights & Biases: settings as its config, scores in its summary, samples as a table.

    The id in W&B depends only on the run, so that logging a run again replaces its earlier log.

    Args:
        run: recorded run, as `exported_run` opens it.
        project: name of the project.
        entity: user or team; empty takes the user's own.
        offline: keep the run below ``folder``, for ``wandb sync``; else WANDB_API_KEY or a login is needed.
        folder: folder for the client's files.
        samples: log prompts, answers and programs too.
    """
    wandb: Any = _package("wandb", "wandb")
    started, finished = _moments(run)
    with _tracker_errors("Weights & Biases", wandb.Error):
        folder.mkdir(parents=True, exist_ok=True)
        settings = wandb.Settings(silent=True, console="off", disable_git=True, save_code=False, x_disable_stats=True)
        tracked = wandb.init(
            project=project,
            entity=entity or None,
            id=_identity(run),
            name=f"{run.recorded.title} · {run.variant}",
            resume="allow",
            mode="offline" if offline else None,
            dir=str(folder),
            job_type="evaluation",
            tags=[run.task[:_LONGEST_TAG], run.variant],
            config=_settings(run),
            settings=settings,
        )
        with tracked:
            tracked.summary.update(run.scores)
            tracked.summary.update({"started_at": started.isoformat(), "finished_at": finished.isoformat()})
            if samples:
                rows = [[row[name] for name in SAMPLE_COLUMNS] for row in map(_sample_row, run.samples())]
                tracked.log({"samples": wandb.Table(columns=[*SAMPLE_COLUMNS], data=rows)})
            place = tracked.url or str(Path(tracked.dir).parent)
    return TrackedRun(place, is_new=True)


def _package(module: str, extra: str) -> Any:
    """Import a module of an optional extra; if it is not installed, raise a ConfigError with the install command."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"export {extra} needs the package {error.name}: pip install 'bigcodeflow[{extra}]', or "
            f"uv tool install 'bigcodeflow[{extra}]' where uv installed bigcodeflow"
        ) from None


@contextmanager
def _tracker_errors(name: str, kind: type[Exception]) -> Iterator[None]:
    """Convert errors of the client of tracker ``name`` into a PublishingError of one line."""
    try:
        yield
    except (kind, OSError, ValueError) as error:
        raise PublishingError(
            f"{name} did not take the run ({error_message(error)}): check address, key and network, and export again"
        ) from None


def _identity(run: ExportedRun) -> str:
    """Return the run's id in trackers: 16 hex digits that depend only on record, variant and sanitizer."""
    return hashlib.sha256(f"{run.recorded.record}\n{run.variant}\n{run.sanitizer}".encode()).hexdigest()[:16]


def _settings(run: ExportedRun) -> dict[str, Any]:
    """Return all known settings and facts of the run in one flat dict."""
    limits = {f"limits.{name}": value for name, value in run.limits.items()}
    parameters = {f"generation.{name}": value for name, value in run.parameters.items()}
    return {**run.facts, "run": run.recorded.run, **parameters, **limits}


def _sample_row(sample: SampleDetail) -> dict[str, Any]:
    texts: Mapping[str, Any] = {
        "prompt": sample.prompt,
        "answer": sample.answer,
        "program": sample.program,
        "failures": sample.failures,
    }
    return {name: texts[name] if name in texts else sample.row[name] for name in SAMPLE_COLUMNS}


def _moments(run: ExportedRun) -> tuple[datetime, datetime]:
    recorded = run.recorded
    return recorded.started_at, recorded.finished_at or recorded.started_at


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _mlflow_place(client: Any, experiment_id: str, run_id: str) -> str:
    """Return the run's URL if the tracker is a server, else the run's id."""
    address = str(client.tracking_uri)
    return (
        f"{address.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}" if address.startswith("http") else run_id
    )
