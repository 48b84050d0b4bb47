"""Flow that judges existing samples again: a file, a folder, or the samples of a recorded run."""

from bigcodeflow.pipeline.outputs import in_own_folder
from bigcodeflow.pipeline.rescore import RescoreConfig, rescored
from bigcodeflow.recording import FinishedRun
from flows.benchmark import benchmark, moment_and_token, scored
from flows.hooks import by_config, reporting_flow

STARTER_ANSWERS = RescoreConfig()


def _name(config: RescoreConfig) -> str:
    return f"rescore {config.run or config.samples}"


@reporting_flow("rescore", flow_run_name=by_config(RescoreConfig, _name))
def rescore(config: RescoreConfig = STARTER_ANSWERS) -> FinishedRun:
    """Judge samples that exist: a file, a folder, or those of a recorded run under other settings. Asks no model.

    Args:
        config: which samples, and what is different this time.
    """
    chosen = in_own_folder(rescored(config), *moment_and_token())
    return scored(benchmark(chosen))
