"""What a run that did not finish says about the way on."""

from typing import Any

from prefect import Flow
from prefect.client.schemas.objects import FlowRun, State
from prefect.logging.loggers import flow_run_logger


def log_failure_remedy(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Say how to continue a failed run once its cause is mended."""
    flow_run_logger(flow_run, flow).error(
        "%s. Mend what the message names, then continue with `%s` or start the same run again: "
        "finished stages and finished samples are reused.",
        state.name,
        retry_command(flow_run),
    )


def log_crash_remedy(flow: Flow[..., Any], flow_run: FlowRun, state: State[Any]) -> None:
    """Say how to continue a run whose process died."""
    flow_run_logger(flow_run, flow).error(
        "%s: the process ended before its work did. Continue with `%s` or start the same run again: "
        "finished stages and finished samples are reused.",
        state.name,
        retry_command(flow_run),
    )


def retry_command(flow_run: FlowRun) -> str:
    """The command that continues the run; a run without deployment has to be told where its flow is."""
    command = f"prefect flow-run retry {flow_run.id}"
    return command if flow_run.deployment_id else f"{command} --entrypoint flows.benchmark.benchmark"
