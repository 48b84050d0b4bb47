"""What runs and their tasks are called: the model, split and subset that people look for in a list of runs."""

from collections.abc import Callable
from typing import Any

from bigcodeflow.config import RunConfig
from bigcodeflow.outputs import model_name


def run_title(config: RunConfig) -> str:
    """What people call the run: the model or the run's own name, split and subset."""
    return f"{_name(config)}, {config.dataset.split}, {config.dataset.subset}"


def named(stage: str, detail: str = "") -> Callable[..., str]:
    """Names a stage's task runs after the run that they work for.

    Args:
        stage: the stage's title.
        detail: what else is worth reading, as a format of the configuration, such as ``{config.sanitizing.mode}``.
    """

    def name(parameters: dict[str, Any]) -> str:
        config: RunConfig = parameters["run"].config
        told = f" ({detail.format(config=config)})" if detail else ""
        return f"{stage}: {run_title(config)}{told}"

    return name


def _name(config: RunConfig) -> str:
    if config.name != "run":
        return config.name
    return config.generation.model if config.samples.source == "model" else model_name(config)
