"""The generation stage as a Prefect task."""

from prefect import task

from bigcodeflow.artifacts import ArtifactRef
from bigcodeflow.config import RunConfig
from bigcodeflow.stages import generation_stage
from tasks.cached import perform_stage, stage_options


@task(name="generation", task_run_name="generation from {config.samples.source}", **stage_options(generation_stage))
def generate_samples(config: RunConfig, dataset: ArtifactRef) -> ArtifactRef:
    """Answers to the tasks: recorded ones or controls."""
    return perform_stage(generation_stage, config, dataset)
