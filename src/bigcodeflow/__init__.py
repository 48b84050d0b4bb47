"""BigCodeBench as a resumable data pipeline: datasets, sanitizing, sandboxed execution and results.

``import bigcodeflow as bcf`` gives what :mod:`bigcodeflow.api` lists, imported when it is first used.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bigcodeflow.api import (
        BigCodeFlowError,
        RunConfig,
        RunResults,
        aggregate,
        evaluate,
        generate,
        load_config,
        load_tasks,
        read_results,
        run,
        sanitize,
    )

__all__ = ["BigCodeFlowError", "RunConfig", "RunResults", "__version__"]
__all__ += ["aggregate", "evaluate", "generate", "load_config", "load_tasks", "read_results", "run", "sanitize"]

__version__ = version("bigcodeflow")


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    # The command line starts in half the time without polars and the stages.
    if name in __all__:
        return getattr(import_module("bigcodeflow.api"), name)
    raise AttributeError(f"module 'bigcodeflow' has no attribute {name!r}")
