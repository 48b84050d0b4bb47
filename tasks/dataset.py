"""The dataset stage as a Prefect task."""

from prefect import task
from prefect.client.schemas.objects import State

from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import dataset_stage
from bigcodeflow.store import ArtifactRef
from tasks.cached import STAGE_OPTIONS, perform_stage


@task(
    name="dataset",
    task_run_name="dataset: {run.config.dataset.source}, {run.config.dataset.split}, {run.config.dataset.subset}",
    **STAGE_OPTIONS,
)
def load_dataset(run: ResolvedRun) -> State[ArtifactRef]:
    """Tasks that are judged."""
    return perform_stage(dataset_stage(run), run)
