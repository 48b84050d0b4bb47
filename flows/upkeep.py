"""Flows for upkeep: checks of an environment, and removal of unneeded files of a store (retention)."""

from datetime import UTC, datetime
from functools import partial

from bigcodeflow.config import EnvironmentCheckConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.pipeline.environment_check import (
    EnvironmentCheck,
    EnvironmentCheckResult,
    check_imports,
    check_settings,
)
from bigcodeflow.pipeline.retention import RetentionConfig, removable, remove
from flows.hooks import by_config, reporting_flow
from tasks.progress import RunListener
from tasks.stages import perform_step
from tasks.upkeep_artifacts import show_check, show_removed

STARTER_ENVIRONMENT, DRY_RUN = EnvironmentCheckConfig(), RetentionConfig()


def _name(config: EnvironmentCheckConfig) -> str:
    return f"check {config.environment}, {config.subset}"


@reporting_flow("check-environment", flow_run_name=by_config(EnvironmentCheckConfig, _name))
def check_environment(config: EnvironmentCheckConfig = STARTER_ENVIRONMENT) -> None:
    """Check which tasks an environment can judge, and whether to trust its verdicts. Earlier executions are reused.

    Args:
        config: environment to check, its tasks and repetitions.
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


@reporting_flow("retention")
def retention(config: RetentionConfig = DRY_RUN) -> int:
    """List the files that can be removed from a store, or remove them; return their size in bytes.

    Args:
        config: limits of age and number that decide which runs and artifacts are kept.
    """
    now = datetime.now(UTC)
    found = perform_step("find what may go", partial(removable, config, now))
    gone = found if config.dry_run else perform_step("remove", partial(remove, config, found, now))
    show_removed(config, gone)
    return sum(one.size_bytes for one in gone)
