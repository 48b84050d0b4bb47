"""Begin runs and record finished runs: result files, run record, study of the rounds, catalog and report."""

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow import datasets, results
from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.paths import user_path
from bigcodeflow.core.schemas import CONTRADICTED_PREFIX, VARIANT_SEPARATOR
from bigcodeflow.pipeline.outputs import REPORT_FILE, RUN_FILE, file_stem, in_own_folder, model_name, recorded_in
from bigcodeflow.pipeline.resolution import ResolvedRun, Resolver
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import Listener, RunArtifacts
from bigcodeflow.pipeline.sweep_results import MemberResult, Plan, finished_result
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.results.runs import recorded_runs
from bigcodeflow.store import ArtifactRef, Store
from bigcodeflow.studies import sections_of
from bigcodeflow.studies.rounds import publish_rounds

logger = logging.getLogger(__name__)


class RunContext(NamedTuple):
    """Settings and start time of a run: made when the run begins, and needed to record it."""

    config: RunConfig
    """Settings as they are recorded, with the folder of the result files."""
    resolved: ResolvedRun
    started_at: datetime
    has_new_folder: bool = False
    """True if no folder of the result files was configured, so that this run got a new folder."""


class Outputs(NamedTuple):
    """Locations of a run's results."""

    files: tuple[Path, ...]
    catalog: Path
    record: str
    """Name of the run's record in the store."""
    report: Path | None = None
    """Path of the report; None if no report could be written."""
    rounds: ArtifactRef | None = None
    """Study of the run's rounds; None for a run of one round."""
    selection: str = ""
    """Share of the subset's tasks that were judged, such as '60 of 1,140 tasks'; empty if all tasks were judged."""


class FinishedRun(NamedTuple):
    """A run that has ended and is recorded."""

    config: RunConfig
    """Settings as they are recorded, with the folder of the result files."""
    store: Store
    artifacts: RunArtifacts
    outputs: Outputs


def begin_run(
    config: RunConfig, resolve: Callable[[RunConfig], ResolvedRun], created_at: datetime | None = None, token: str = ""
) -> RunContext:
    """Begin a run: choose its results folder (see `in_own_folder`), and resolve its settings.

    If ``config.out`` is empty, the run gets a new folder, whose name contains ``created_at`` and ``token``. Raises
    ConfigError if the folder ``config.out`` holds the results of another run.
    """
    started_at = datetime.now(UTC)
    resolved = resolve(config)
    # A sample file may answer only some of the selected tasks: the run is then one of these.
    view = config.dataset.model_copy(update={"ids": resolved.config.dataset.ids})
    placed = in_own_folder(config.model_copy(update={"dataset": view}), created_at or started_at, token)
    return RunContext(placed, resolved, started_at, not config.out)


def perform_and_record(config: RunConfig, listener: Listener) -> FinishedRun:
    """Run every stage and every round in this process, without Prefect, and record the run."""
    context = begin_run(config, Resolver())
    return record_run(context, perform_all(context.resolved, listener))


def record_run(context: RunContext, artifacts: RunArtifacts) -> FinishedRun:
    """Write all outputs of a run except its artifacts, and return them with the run.

    The run's folder gets the original's result files, verdicts.parquet, metrics.parquet, run.json and report.html. The
    store gets the run's record, the study of its rounds, and the catalog. If an earlier run has the same artifacts and
    no folder was configured, the files go into the earlier run's folder. The link results/latest leads to the folder.
    """
    context = _in_earlier_folder(context, artifacts) if context.has_new_folder else context
    config, store, evaluated_at = context.config, context.resolved.store, datetime.now().astimezone()
    folder, content = user_path(config.out), _content(context, artifacts, evaluated_at)
    # First: files without an owner would block the retry of a run that was killed while it wrote them.
    _claim(folder, content, "")
    selection = content.get("selection", "")
    files = tuple(_result_files(context, artifacts, evaluated_at, selection))
    stamp = context.started_at.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%f")
    record = store.write(f"runs/{stamp}-{config.name}.json", json.dumps(content, indent=2).encode()).stem
    _claim(folder, content, record)
    rounds = publish_rounds(config, artifacts, store)
    catalog = results.rebuild_catalog(store.location)
    report = _write_report(store, record, folder / REPORT_FILE)
    _link_latest(folder)
    return FinishedRun(config, store, artifacts, Outputs(files, catalog, record, report, rounds, selection))


def _in_earlier_folder(context: RunContext, artifacts: RunArtifacts) -> RunContext:
    """Return the context, with the folder of the latest earlier run with the same name and artifacts, if any."""
    keys, rounds = {name: ref.key for name, ref in artifacts.by_stage.items()}, [one.keys for one in artifacts.rounds]
    for run in reversed(recorded_runs(context.resolved.store.location)):
        out = str(run.config.get("out") or "")
        same = run.run == context.config.name and dict(run.keys) == keys and list(run.rounds) == rounds
        if same and out.startswith("results/runs/") and recorded_in(out) == run.record:
            config = context.config.model_copy(update={"out": out})
            with suppress(ConfigError):  # the folder is of other settings, such as another number of workers
                return context._replace(config=in_own_folder(config, context.started_at))
    return context


def _link_latest(folder: Path) -> None:
    """Make the link results/latest lead to ``folder``; do nothing without a folder 'results' or support for links."""
    link = Path("results/latest")
    with suppress(OSError):
        if link.parent.is_dir() and (link.is_symlink() or not link.exists()):
            new = link.with_name(f".latest-{os.getpid()}")
            new.symlink_to(os.path.relpath(folder.absolute(), link.parent.absolute()))
            new.replace(link)


def reused_result(plan: Plan, artifacts: RunArtifacts, resolver: Resolver) -> MemberResult:
    """Return a sweep's result row for a run whose artifacts all existed before; record the run if it has no record."""
    if not plan.recorded or recorded_in(plan.member.config.out) != plan.recorded.record:
        record_run(begin_run(plan.member.config, resolver), artifacts)
    return finished_result(plan, artifacts, outcome="reused")


def _result_files(
    context: RunContext, artifacts: RunArtifacts, evaluated_at: datetime, selection: str
) -> Iterator[Path]:
    config, store, folder = context.config, context.resolved.store, user_path(context.config.out)
    sanitizer = config.sanitizing.mode
    for variant in config.execution.variants:
        uncalibrated = variant == "raw" and "calibrated" in config.execution.variants
        stem = file_stem(config) + ("-uncalibrated" if uncalibrated else "")
        yield results.write_eval_results(
            folder / f"{stem}_eval_results.json",
            tasks=store.path(artifacts.dataset),
            solutions=store.path(artifacts.sanitizing),
            verdicts=store.path(artifacts.execution),
            variant=variant,
            sanitizer=sanitizer,
            evaluated_at=evaluated_at,
        )
        yield results.write_pass_at_k(
            folder / f"{stem}_pass_at_k.json",
            metrics=store.read(artifacts.aggregation),
            ground_truth=store.path(artifacts.ground_truth),
            model=model_name(config),
            variant=variant,
            sanitizer=sanitizer,
            selection=selection,
        )
    for name, ref in (("verdicts", artifacts.execution), ("metrics", artifacts.aggregation)):
        yield write_atomically(folder / f"{name}.parquet", store.path(ref).read_bytes())


def _claim(folder: Path, content: dict[str, Any], record: str) -> None:
    """Write RUN_FILE, which names the run that owns ``folder``; ``record`` is empty until the run is recorded."""
    write_atomically(folder / RUN_FILE, json.dumps({"record": record, **content}, indent=2).encode())


def _content(context: RunContext, artifacts: RunArtifacts, finished_at: datetime) -> dict[str, Any]:
    config = context.config
    record: dict[str, Any] = {
        "run": config.name,
        "model": model_name(config),
        "started_at": context.started_at.astimezone(UTC).isoformat(),
        "finished_at": finished_at.astimezone(UTC).isoformat(),
        "config": config.model_dump(mode="json"),
        "artifacts": {name: ref.key for name, ref in artifacts.by_stage.items()},
    }
    if artifacts.rounds:
        record["rounds"] = [one.keys for one in artifacts.rounds]
    if tasks := artifacts.aggregation.statistics.get("quarantined_tasks"):
        record["quarantine"] = {"mode": config.execution.quarantine, "tasks": tasks}
    task_ids = context.resolved.store.read(artifacts.dataset, ["task_id"])["task_id"].to_pylist()
    if contradicted := sum(str(task_id).startswith(CONTRADICTED_PREFIX) for task_id in task_ids):
        record["contradicted_tasks"] = contradicted
    if variants := sum(VARIANT_SEPARATOR in str(task_id) for task_id in task_ids):
        record["task_variants"] = variants
    pinned = context.resolved
    if selection := datasets.selection_of(pinned.config.dataset, pinned.contents["dataset"].value, len(task_ids)):
        record["selection"] = selection
    return record


def _write_report(store: Store, record: str, out: Path) -> Path | None:
    """Write the report of a recorded run and return its path; log a warning and return None if that fails."""
    try:
        selected = select_runs(store.root, [record])
        sections = sections_of(store, [run.recorded for run in selected])
        return write_report(selected, out, sections=sections).path.absolute()
    except ArtifactError as error:
        logger.warning("no report was written: %s", error)
        return None
