"""The generation stage as a Prefect task."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from prefect import task
from prefect.client.schemas.objects import State
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError, concurrency

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.pipeline.resolution import ResolvedRun
from bigcodeflow.pipeline.stages import generation_stage
from bigcodeflow.store import ArtifactRef
from tasks.cached import STAGE_OPTIONS, perform_stage
from tasks.naming import named


@task(name="generation", task_run_name=named("generation"), **STAGE_OPTIONS)
def generate_samples(run: ResolvedRun, dataset: ArtifactRef) -> State[ArtifactRef]:
    """Answers to the tasks: a model's, recorded ones or controls."""
    name = run.config.generation.requests.shared_limit
    shared_limit = partial(_slot, name) if name else None
    return perform_stage(generation_stage(run, dataset, shared_limit), run)


@asynccontextmanager
async def _slot(name: str) -> AsyncIterator[None]:
    """One slot of a limit that every run on this Prefect server shares.

    Raises:
        GenerationError: the server has no such limit.
    """
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(concurrency(name, occupy=1, strict=True))
        except ConcurrencySlotAcquisitionError as error:
            raise GenerationError(
                f"generation.requests.shared_limit: {name!r} gives no slot ({' '.join(str(error).split())}): "
                f"make it with `prefect gcl create {name} --limit N`, or leave the setting empty"
            ) from None
        yield
