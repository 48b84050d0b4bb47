"""The checks of `bigcodeflow env check` as a flow: what an environment can judge, and whether it can be trusted."""

from prefect import flow, runtime
from prefect.states import Failed

from bigcodeflow.core.errors import BigCodeFlowError, EnvironmentUnusableError
from bigcodeflow.pipeline.environment_check import (
    EnvironmentCheck,
    EnvironmentCheckConfig,
    check_imports,
    check_settings,
    shortcomings,
)
from flows.hooks import log_cancellation_remedy, log_crash_remedy, log_failure_remedy
from tasks.checking import show_check
from tasks.progress import RunListener

STARTER_ENVIRONMENT = EnvironmentCheckConfig()


def _flow_run_name() -> str:
    config = EnvironmentCheckConfig.model_validate(runtime.flow_run.parameters["config"])
    return f"check {config.environment}, {config.subset}"


@flow(
    name="check-environment",
    flow_run_name=_flow_run_name,
    on_failure=[log_failure_remedy],
    on_crashed=[log_crash_remedy],
    on_cancellation=[log_cancellation_remedy],
)
def check_environment(config: EnvironmentCheckConfig = STARTER_ENVIRONMENT) -> None:
    """Say what an environment can judge, and whether its verdicts can be trusted. What was executed is reused.

    Args:
        config: which environment, and how thoroughly.

    Raises:
        EnvironmentUnusableError: a library, a task or a control is wanting; the message says which.
    """
    try:
        settings = check_settings(config)
        imports = check_imports(config.environment)
        check = EnvironmentCheck(settings, RunListener())
        unjudgeable = check.unjudgeable()
        controls = check.controls(adversaries=config.controls)
        repeated = check.repeat(config.repeat) if config.repeat else None
        show_check(
            config, check.n_tasks, imports=imports, unjudgeable=unjudgeable, controls=controls, repeated=repeated
        )
        found = shortcomings(config, check.n_tasks, imports=imports, unjudgeable=unjudgeable, controls=controls)
        error: BigCodeFlowError | None = EnvironmentUnusableError("\n".join(found)) if found else None
    except BigCodeFlowError as raised:
        error = raised.with_traceback(None)
    if error is not None:
        return Failed(message=str(error), data=error)  # type: ignore[return-value]
    return None
