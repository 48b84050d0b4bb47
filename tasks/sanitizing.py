"""The sanitizing stage as a Prefect task."""

from prefect import task
from prefect.client.schemas.objects import State

from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import sanitizing_stage
from bigcodeflow.store import ArtifactRef
from tasks.cached import STAGE_OPTIONS, perform_stage
from tasks.naming import named


@task(name="sanitizing", task_run_name=named("sanitizing", "{config.sanitizing.mode}"), **STAGE_OPTIONS)
def sanitize_samples(run: ResolvedRun, dataset: ArtifactRef, samples: ArtifactRef) -> State[ArtifactRef]:
    """The program in each answer."""
    return perform_stage(sanitizing_stage(run, dataset, samples), run)
