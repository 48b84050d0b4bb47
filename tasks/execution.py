"""The execution stage as two Prefect tasks: ground truths first, then samples."""

from prefect import task
from prefect.client.schemas.objects import State

from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import execution_stage, ground_truth_stage
from bigcodeflow.store import ArtifactRef
from tasks.cached import STAGE_OPTIONS, perform_stage
from tasks.naming import named

_WHERE = "(in {run.config.execution.environment})"


@task(
    name="ground truth",
    task_run_name="ground truth: {run.config.dataset.source}, {run.config.dataset.subset} " + _WHERE,
    **STAGE_OPTIONS,
)
def execute_ground_truths(run: ResolvedRun, dataset: ArtifactRef) -> State[ArtifactRef]:
    """Verdicts of the canonical solutions."""
    return perform_stage(ground_truth_stage(run, dataset), run)


@task(name="execution", task_run_name=named("execution", "in {config.execution.environment}"), **STAGE_OPTIONS)
def execute_solutions(
    run: ResolvedRun, dataset: ArtifactRef, solutions: ArtifactRef, ground_truth: ArtifactRef
) -> State[ArtifactRef]:
    """Verdicts of the samples."""
    return perform_stage(execution_stage(run, dataset, solutions, ground_truth), run)
