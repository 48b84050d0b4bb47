"""The leaderboard as a flow: recorded runs beside the published figures, kept current, with what has changed."""

from datetime import UTC, datetime

from prefect import flow
from prefect.states import Failed

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.leaderboard.update import LeaderboardConfig, refuse_regressions, update_leaderboard
from flows.hooks import log_cancellation_remedy, log_crash_remedy, log_failure_remedy
from tasks.boards import show_leaderboard

OWN_RUNS = LeaderboardConfig()


@flow(
    name="leaderboard",
    on_failure=[log_failure_remedy],
    on_crashed=[log_crash_remedy],
    on_cancellation=[log_cancellation_remedy],
)
def leaderboard(config: LeaderboardConfig = OWN_RUNS) -> str:
    """Bring the leaderboard up to date and return the name of its snapshot; name every regression.

    Args:
        config: which runs are shown, and where.

    Raises:
        BigCodeFlowError: what was wrong, where, and what to do; also the message of the failed flow run.
    """
    try:
        update = update_leaderboard(config, datetime.now(UTC))
        show_leaderboard(config, update)
        if config.fail_on_regression:
            refuse_regressions(update)
    except BigCodeFlowError as error:
        return Failed(message=str(error), data=error.with_traceback(None))  # type: ignore[return-value]
    return update.snapshot.name
