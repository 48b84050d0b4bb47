"""The aggregation stage as a Prefect task."""

from prefect import task
from prefect.client.schemas.objects import State

from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import aggregation_stage
from bigcodeflow.store import ArtifactRef
from tasks.cached import STAGE_OPTIONS, perform_stage
from tasks.naming import named


@task(name="aggregation", task_run_name=named("aggregation"), **STAGE_OPTIONS)
def aggregate_verdicts(
    run: ResolvedRun,
    dataset: ArtifactRef,
    solutions: ArtifactRef,
    ground_truth: ArtifactRef,
    verdicts: ArtifactRef,
) -> State[ArtifactRef]:
    """Scores with their intervals."""
    return perform_stage(aggregation_stage(run, dataset, solutions, ground_truth, verdicts), run)
