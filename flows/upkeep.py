"""The smaller flows: checks of an environment, the leaderboard, and retention."""

from datetime import UTC, datetime
from functools import partial

from bigcodeflow.config import EnvironmentCheckConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.leaderboard.publishing import LeaderboardConfig, refuse_regressions, update_leaderboard
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
from tasks.upkeep_artifacts import show_check, show_leaderboard, show_removed

STARTER_ENVIRONMENT, OWN_RUNS, DRY_RUN = EnvironmentCheckConfig(), LeaderboardConfig(), RetentionConfig()


def _name(config: EnvironmentCheckConfig) -> str:
    return f"check {config.environment}, {config.subset}"


@reporting_flow("check-environment", flow_run_name=by_config(EnvironmentCheckConfig, _name))
def check_environment(config: EnvironmentCheckConfig = STARTER_ENVIRONMENT) -> None:
    """Check which tasks an environment can judge, and whether to trust its verdicts. Earlier executions are reused.

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


@reporting_flow("leaderboard")
def leaderboard(config: LeaderboardConfig = OWN_RUNS) -> str:
    """Update the leaderboard and return the name of its snapshot; list every regression.

    Args:
        config: which runs are shown, and where.
    """
    update = perform_step("update leaderboard", partial(update_leaderboard, config, datetime.now(UTC)))
    show_leaderboard(config, update)
    if config.fail_on_regression:
        refuse_regressions(update)
    return update.snapshot.name


@reporting_flow("retention")
def retention(config: RetentionConfig = DRY_RUN) -> int:
    """List what can be deleted from a store, or delete it; return the number of bytes.

    Args:
        config: what is kept.
    """
    now = datetime.now(UTC)
    found = perform_step("find what may go", partial(removable, config, now))
    gone = found if config.dry_run else perform_step("remove", partial(remove, config, found, now))
    show_removed(config, gone)
    return sum(one.size_bytes for one in gone)
