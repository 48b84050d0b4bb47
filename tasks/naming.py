"""What runs and their tasks are called: the model, split and subset that people look for in a list of runs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bigcodeflow.pipeline.outputs import run_title

if TYPE_CHECKING:
    from bigcodeflow.config import RunConfig


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
