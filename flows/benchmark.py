"""Benchmark as one Prefect flow; every stage is a separate task, reused if the store holds its artifact."""

from datetime import UTC, datetime

from prefect.context import FlowRunContext
from prefect.states import Completed

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.pipeline.live import live_run
from bigcodeflow.pipeline.outputs import in_own_folder, run_title, write_outputs
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.pipeline.runs import StageLocks
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store
from bigcodeflow.studies.rounds import publish_rounds
from flows.hooks import by_config, reporting_flow, tag_run
from tasks.artifacts import headline, show_result
from tasks.stages import perform_tasks
from tasks.study_artifacts import show_study

#: Default values of the form: the preset of `make run`. It has no preset name, since a form with another model would
#: otherwise give the preset's name to that model's run.
STARTER_SET = load_config("starter").model_copy(update={"name": "run"})


@reporting_flow("benchmark", flow_run_name=by_config(RunConfig, run_title))
def benchmark(config: RunConfig = STARTER_SET) -> RunArtifacts:
    """Judge answers to BigCodeBench tasks: load, sanitize, execute, aggregate. Finished stages are reused.

    Args:
        config: All settings of the run.
    """
    return scored(config, judge(config, Resolver(), StageLocks()))


def scored(config: RunConfig, artifacts: RunArtifacts) -> RunArtifacts:
    """Return a completed state: its message begins with the score, its data are the run's artifacts."""
    message = headline(open_store(config.store).read(artifacts.aggregation))
    return Completed(message=message, data=artifacts)  # type: ignore[return-value]


def judge(config: RunConfig, resolver: Resolver, stage_locks: StageLocks, preset: str = "") -> RunArtifacts:
    """Judge one run: the body of every such flow; the runs of a sweep share a resolver and take stage_locks."""
    started_at = datetime.now(UTC)
    tag_run(config, preset)
    config = in_own_folder(config, *moment_and_token())
    resolved = resolver(config)
    with live_run(config, run_id(), check=stage_locks.check) as live:
        artifacts = perform_tasks(resolved, stage_locks, live)
    store = open_store(config.store)
    outputs = write_outputs(config, artifacts, store, started_at=started_at, evaluated_at=datetime.now(UTC))
    rounds = publish_rounds(config, artifacts, store)
    show_result(config, artifacts, outputs)
    if rounds:
        show_study(store, rounds, run_title(config))
    return artifacts


def run_id() -> str:
    """Return the id of the flow run; empty outside a flow run."""
    context = FlowRunContext.get()
    return str(context.flow_run.id) if context and context.flow_run else ""


def moment_and_token() -> tuple[datetime, str]:
    """Return the flow run's creation time and a part of its id, which name its folder: the same at every retry."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    return (datetime.now(UTC), "") if run is None else (run.created or datetime.now(UTC), run.id.hex[-8:])
