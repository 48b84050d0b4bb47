"""Problems that keep a run from starting, as far as they can be detected before it starts."""

import asyncio
import os
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bigcodeflow import datasets, generation
from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError
from bigcodeflow.core.paths import located
from bigcodeflow.datasets.hub import HubSource
from bigcodeflow.pipeline.outputs import in_own_folder
from bigcodeflow.pipeline.resolution import of_answered_tasks
from bigcodeflow.pipeline.stages import recorded_samples

#: Time in which a server lists its models for an error message.
_OFFER_SECONDS = 5.0


def problems_of(runs: Iterable[RunConfig], is_set_elsewhere: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Return all problems that keep the runs from starting, one line each, without duplicates; call no model or hub.

    The checks cover the model's provider, settings and key, the tasks as far as they are on this machine, the samples,
    the environment with its backend, and the folders for output. ``is_set_elsewhere`` returns True for an
    environment variable that the runs will have, although this process lacks it.
    """
    asks = partial(_check_model, is_set_elsewhere=is_set_elsewhere)
    found: dict[str, None] = {}
    for run in runs:
        for check in (asks, _check_tasks, _check_environment, _check_folders):
            try:
                check(run)
            except BigCodeFlowError as error:
                found |= dict.fromkeys(str(error).splitlines())
            except OSError as error:  # a folder that may not be read, say
                found[f"{error.filename or 'a file'}: {error.strerror or error}"] = None
    return list(found)


def _check_model(run: RunConfig, is_set_elsewhere: Callable[[str], bool]) -> None:
    settings = run.generation
    if run.samples.source != "model":
        return
    # These modules import the providers' HTTP client.
    from bigcodeflow.generation.model_settings import resolve_settings
    from bigcodeflow.generation.providers import key_variables

    generation.require_one_setting(settings)
    provider, _ = generation.provider_and_model(settings)
    variables = key_variables(provider, variable=settings.api_key_variable, base_url=settings.base_url)
    resolve_settings(settings, run.dataset.split, sends=not any(map(is_set_elsewhere, variables)))


def require_model(model: str, base_url: str) -> None:
    """Raise ConfigError unless ``model`` is PROVIDER:NAME; the message lists the models of ``base_url``."""
    provider, _, name = model.partition(":")
    if not (provider and name):
        offer = asyncio.run(_offered_models(base_url)) if base_url else ""
        remedy = "name it as PROVIDER:NAME, such as openai:gpt-4o; openai:NAME for your own server"
        raise ConfigError(". ".join(filter(None, (f"model: is {repr(model) if model else 'empty'}: {remedy}", offer))))


async def _offered_models(base_url: str) -> str:
    from bigcodeflow.generation.providers import Endpoint, open_provider

    async with aclosing(open_provider("openai", Endpoint("", base_url, timeout_seconds=_OFFER_SECONDS))) as provider:
        return await provider.offered_models()


def _check_tasks(run: RunConfig) -> None:
    """Check tasks and samples; if a hub dataset is not in the cache, check only that the sample file can be read."""
    recorded = run.samples.source not in ("model", *generation.CONTROLS)
    if recorded:
        generation.fingerprint(run.samples)
    view = run.dataset
    if isinstance(datasets.parse_source(view.source), HubSource) and not view.offline:
        view = view.model_copy(update={"offline": True})
        try:
            datasets.resolve(view)
        except BigCodeFlowError:
            return
    resolved = datasets.resolve(view)
    run = of_answered_tasks(run.model_copy(update={"dataset": view}), resolved)
    tasks = datasets.load_tasks(run.dataset, resolved)
    if recorded:
        recorded_samples(run, resolved, tasks)


def _check_environment(run: RunConfig) -> None:
    from bigcodeflow.judge.backend_registry import execution_environment

    execution_environment(run.execution)


def _check_folders(run: RunConfig) -> None:
    for setting, given in (("store", run.store), ("out", run.out)):
        place = located(given) if given else ""
        if not isinstance(place, Path):  # a URL is opened by the run
            continue
        present = next(folder for folder in (place, *place.parents) if folder.exists())
        if not (present.is_dir() and os.access(present, os.W_OK)):
            raise ConfigError(f"{setting}: nothing can be written to {place}: name another folder")
    if run.out:
        with suppress(BigCodeFlowError):  # other checks name it
            run = of_answered_tasks(run, datasets.resolve(run.dataset.model_copy(update={"offline": True})))
    in_own_folder(run, datetime.now(UTC))
