"""Flow of the leaderboard: recorded runs next to the published figures, kept current, with all changes."""

from datetime import UTC, datetime
from functools import partial

from bigcodeflow.leaderboard.publishing import LeaderboardConfig, refuse_regressions, update_leaderboard
from flows.hooks import reporting_flow
from tasks.stages import perform_step
from tasks.upkeep_artifacts import show_leaderboard

OWN_RUNS = LeaderboardConfig()


@reporting_flow("leaderboard")
def leaderboard(config: LeaderboardConfig = OWN_RUNS) -> str:
    """Bring the leaderboard up to date and return the name of its snapshot; name every regression.

    Args:
        config: which runs are shown, and where.
    """
    update = perform_step("update leaderboard", partial(update_leaderboard, config, datetime.now(UTC)))
    show_leaderboard(config, update)
    if config.fail_on_regression:
        refuse_regressions(update)
    return update.snapshot.name
