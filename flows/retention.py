"""Retention as a flow: what no recorded run needs and nobody has used for long goes from the store."""

from datetime import UTC, datetime

from prefect import flow
from prefect.states import Failed

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.pipeline.retention import RetentionConfig, removable, remove
from tasks.cleaning import show_removed

DRY_RUN = RetentionConfig()


@flow(name="retention")
def retention(config: RetentionConfig = DRY_RUN) -> int:
    """Say what may go from a store, or remove it; returns the bytes of it.

    Args:
        config: what is kept.

    Raises:
        BigCodeFlowError: what was wrong, where, and what to do; also the message of the failed flow run.
    """
    now = datetime.now(UTC)
    try:
        found = removable(config, now)
        gone = found if config.dry_run else remove(config, found, now)
        show_removed(config, gone)
    except BigCodeFlowError as error:
        return Failed(message=str(error), data=error.with_traceback(None))  # type: ignore[return-value]
    return sum(one.size_bytes for one in gone)
