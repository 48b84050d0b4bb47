"""The flows `benchmark` and `rescore` (judge existing samples again); every stage is a separate Prefect task.

A stage's artifact is reused if the store holds it.
"""

from datetime import UTC, datetime

from prefect.states import Completed

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.pipeline.concurrent_stages import StageLocks
from bigcodeflow.pipeline.live import LiveRun
from bigcodeflow.pipeline.outputs import in_own_folder, run_title
from bigcodeflow.pipeline.rescore import RescoreConfig, rescored
from bigcodeflow.pipeline.resolution import Resolver
from bigcodeflow.recording import FinishedRun, begin_run, record_run
from flows.hooks import by_config, current_run, reporting_flow, tag_run
from tasks.artifacts import headline, show_result
from tasks.stages import perform_tasks

#: Default values of the form: the preset `starter`, with the name 'run', which means that the run has no own name. With
#: the preset's name, a form in which only the model is changed would give that name to the model's run.
STARTER_SET = load_config("starter").model_copy(update={"name": "run"})
STARTER_ANSWERS = RescoreConfig()


@reporting_flow("benchmark", flow_run_name=by_config(RunConfig, run_title))
def benchmark(config: RunConfig = STARTER_SET) -> FinishedRun:
    """Judge answers to BigCodeBench tasks: load, sanitize, execute, aggregate. Finished stages are reused.

    Args:
        config: All settings of the run.
    """
    return scored(judge(config, Resolver(), StageLocks()))


def _rescore_name(config: RescoreConfig) -> str:
    return f"rescore {config.run or config.samples}"


@reporting_flow("rescore", flow_run_name=by_config(RescoreConfig, _rescore_name))
def rescore(config: RescoreConfig = STARTER_ANSWERS) -> FinishedRun:
    """Judge existing samples: a file, a folder, or samples of a recorded run under other settings. Asks no model.

    Args:
        config: samples to judge again, and the settings that change.
    """
    chosen = in_own_folder(rescored(config), *moment_and_token())
    return scored(benchmark(chosen))


def scored(run: FinishedRun) -> FinishedRun:
    """Return a Prefect state Completed with the run's first score as its message and the run as its data."""
    message = headline(run.store.read(run.artifacts.aggregation))
    return Completed(message=message, data=run)  # type: ignore[return-value]


def judge(config: RunConfig, resolver: Resolver, stage_locks: StageLocks, preset: str = "") -> FinishedRun:
    """Perform the stages of a run and record the run, for any flow that judges samples.

    Runs of a sweep share ``resolver`` and ``stage_locks``; ``preset`` becomes a tag of the flow run.
    """
    tag_run(config, preset)
    run, flow_run = begin_run(config, resolver, *moment_and_token()), current_run()
    run_id = str(flow_run.id) if flow_run else ""
    with LiveRun(run.config, run.resolved.store, run_id, check=stage_locks.check) as live:
        artifacts = perform_tasks(run.resolved, stage_locks, live)
    finished = record_run(run, artifacts)
    show_result(finished)
    return finished


def moment_and_token() -> tuple[datetime, str]:
    """Return the creation time of the flow run and the end of its id, both the same at every retry.

    They name the folder of the run's results. Outside a flow run, return the current time and ''.
    """
    run = current_run()
    return (datetime.now(UTC), "") if run is None else (run.created or datetime.now(UTC), run.id.hex[-8:])
