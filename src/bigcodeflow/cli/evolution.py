"""`bigcodeflow evolution`: tasks and recorded runs under newer libraries."""

from typing import Any

from bigcodeflow.cli.console import print_study
from bigcodeflow.cli.options import Overrides, SettingOption, settings_options
from bigcodeflow.core.settings import validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow.studies.evolution.config import EvolutionConfig
from bigcodeflow.studies.evolution.study import run_study


@settings_options(
    SettingOption("runs", "run"),
    "dataset",
    "ids",
    "environment",
    "current",
    "reruns",
    "workers",
    "store",
    model=EvolutionConfig,
)
def evolution(given: dict[str, Any], settings: Overrides = None) -> None:
    """Label tasks in an environment of newer libraries, and score recorded runs there.

    Executes the reference solutions in both environments: a task holds, drifts, is dead or cannot be judged, with the
    cause, the library that is responsible and the evidence. Recorded runs' samples are executed in both too; their
    records stay as they are. All is cached: the same command goes on where it was stopped. See docs/evolution.md.
    """
    config = validated(EvolutionConfig, {**given, "overrides": settings or ()}, "command line")
    with progress_listener() as listener:
        ref = run_study(config, listener)
    print_study(open_store(config.store), ref)
