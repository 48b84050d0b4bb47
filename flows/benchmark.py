"""The benchmark as one Prefect flow; every stage is a task of its own, cached by content."""

from datetime import UTC, datetime

from prefect import flow, runtime
from prefect.context import FlowRunContext
from prefect.states import Failed

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.pipeline.outputs import in_own_folder, run_title, write_outputs
from bigcodeflow.pipeline.resolution import ResolvedRun, Resolver
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store
from flows.hooks import log_cancellation_remedy, log_crash_remedy, log_failure_remedy
from tasks.aggregation import aggregate_verdicts
from tasks.cached import artifact_of
from tasks.dataset import load_dataset
from tasks.execution import execute_ground_truths, execute_solutions
from tasks.generation import generate_samples
from tasks.result import show_result
from tasks.sanitizing import sanitize_samples

#: What the form holds untouched: the preset that `make run` runs. It has no name, since a form with another model
#: would else give that model's run the preset's.
STARTER_SET = load_config("starter").model_copy(update={"name": "run"})


def _flow_run_name() -> str:
    return run_title(RunConfig.model_validate(runtime.flow_run.parameters["config"]))


@flow(
    name="benchmark",
    flow_run_name=_flow_run_name,
    result_serializer="json",
    on_failure=[log_failure_remedy],
    on_crashed=[log_crash_remedy],
    on_cancellation=[log_cancellation_remedy],
)
def benchmark(config: RunConfig = STARTER_SET) -> RunArtifacts:
    """Judge answers to BigCodeBench tasks: load, sanitize, execute, aggregate. Finished stages are reused.

    Args:
        config: Everything that the run can be told.

    Raises:
        BigCodeFlowError: what was wrong, where, and what to do; also the message of the failed flow run.
    """
    return judge(config, Resolver())


def judge(config: RunConfig, resolver: Resolver) -> RunArtifacts:
    """The body of the benchmark flow.

    Args:
        config: the run.
        resolver: looks up what the run names; the runs of a sweep share one.
    """
    started_at = datetime.now(UTC)
    try:
        config = in_own_folder(config, *moment_and_token())
        artifacts = perform_tasks(resolver(config))
        outputs = write_outputs(
            config, artifacts, open_store(config.store), started_at=started_at, evaluated_at=datetime.now(UTC)
        )
        show_result(config, artifacts, outputs)
    except BigCodeFlowError as error:
        # Raised from here, the line that says what to do would be buried under a traceback; the caller still gets it.
        return Failed(message=str(error), data=error.with_traceback(None))  # type: ignore[return-value]
    return artifacts


def moment_and_token() -> tuple[datetime, str]:
    """When the flow run was created, and a part of its id: its folder's name, the same at every retry."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    return (datetime.now(UTC), "") if run is None else (run.created or datetime.now(UTC), run.id.hex[-8:])


def perform_tasks(run: ResolvedRun) -> RunArtifacts:
    """Every stage's task in order; ground truths before samples, since both take all cores.

    Raises:
        BigCodeFlowError: what a stage raised.
    """
    dataset = artifact_of(load_dataset, run)
    samples = artifact_of(generate_samples, run, dataset)
    solutions = artifact_of(sanitize_samples, run, dataset, samples)
    truths = artifact_of(execute_ground_truths, run, dataset)
    verdicts = artifact_of(execute_solutions, run, dataset, solutions, truths)
    metrics = artifact_of(aggregate_verdicts, run, dataset, solutions, truths, verdicts)
    return RunArtifacts(dataset, samples, solutions, truths, verdicts, metrics)
