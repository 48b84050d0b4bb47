"""The dataset stage as a Prefect task."""

from prefect import task
from prefect.client.schemas.objects import State

from bigcodeflow.artifacts import ArtifactRef
from bigcodeflow.resolving import ResolvedRun
from bigcodeflow.stages import dataset_stage
from tasks.cached import STAGE_OPTIONS, perform_stage


@task(
    name="dataset",
    task_run_name="dataset: {run.config.dataset.source}, {run.config.dataset.split}, {run.config.dataset.subset}",
    **STAGE_OPTIONS,
)
def load_dataset(run: ResolvedRun) -> State[ArtifactRef]:
    """Tasks that are judged."""
    return perform_stage(dataset_stage(run), run)
