"""Flow of the checks of `bigcodeflow env check`: what an environment can judge, and if its verdicts are reliable."""

from functools import partial

from bigcodeflow.config import EnvironmentCheckConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.pipeline.environment_check import (
    EnvironmentCheck,
    EnvironmentCheckResult,
    check_imports,
    check_settings,
)
from flows.hooks import by_config, reporting_flow
from tasks.progress import RunListener
from tasks.stages import perform_step
from tasks.upkeep_artifacts import show_check

STARTER_ENVIRONMENT = EnvironmentCheckConfig()


def _name(config: EnvironmentCheckConfig) -> str:
    return f"check {config.environment}, {config.subset}"


@reporting_flow("check-environment", flow_run_name=by_config(EnvironmentCheckConfig, _name))
def check_environment(config: EnvironmentCheckConfig = STARTER_ENVIRONMENT) -> None:
    """Say what an environment can judge, and whether its verdicts can be trusted. What was executed is reused.

    Args:
        config: which environment, and how thoroughly.
    """
    settings = check_settings(config)
    imports = perform_step("imports", partial(check_imports, config.environment))
    check = perform_step("ground truths", partial(EnvironmentCheck, settings, RunListener()))
    unjudgeable = check.unjudgeable()
    controls = perform_step("controls", partial(check.controls, adversaries=config.controls))
    repeated = perform_step("repeated ground truths", partial(check.repeat, config.repeat)) if config.repeat else None
    found = EnvironmentCheckResult(config, imports, check.n_tasks, unjudgeable, controls, repeated)
    show_check(found)
    if lines := found.shortcomings():
        raise EnvironmentUnusableError("\n".join(lines))
