"""Samples that exist, judged again as a flow: a file, a folder, or those of a recorded run."""

from prefect import runtime

from bigcodeflow.pipeline.outputs import in_own_folder
from bigcodeflow.pipeline.rescore import RescoreConfig, rescored
from bigcodeflow.pipeline.stages import RunArtifacts
from flows.benchmark import benchmark, moment_and_token
from flows.hooks import reporting_flow

STARTER_ANSWERS = RescoreConfig()


def _flow_run_name() -> str:
    config = RescoreConfig.model_validate(runtime.flow_run.parameters["config"])
    return f"rescore {config.run or config.samples}"


@reporting_flow("rescore", flow_run_name=_flow_run_name)
def rescore(config: RescoreConfig = STARTER_ANSWERS) -> RunArtifacts:
    """Judge samples that exist: a file, a folder, or those of a recorded run under other settings. Asks no model.

    Args:
        config: which samples, and what is different this time.

    Raises:
        BigCodeFlowError: what was wrong, where, and what to do; also the message of the failed flow run.
    """
    return benchmark(in_own_folder(rescored(config), *moment_and_token()))
