"""Flow of retention: remove artifacts that no recorded run needs and nobody has used for long from the store."""

from datetime import UTC, datetime
from functools import partial

from bigcodeflow.pipeline.retention import RetentionConfig, removable, remove
from flows.hooks import reporting_flow
from tasks.stages import perform_step
from tasks.upkeep_artifacts import show_removed

DRY_RUN = RetentionConfig()


@reporting_flow("retention")
def retention(config: RetentionConfig = DRY_RUN) -> int:
    """Say what may go from a store, or remove it; returns the bytes of it.

    Args:
        config: what is kept.
    """
    now = datetime.now(UTC)
    found = perform_step("find what may go", partial(removable, config, now))
    gone = found if config.dry_run else perform_step("remove", partial(remove, config, found, now))
    show_removed(config, gone)
    return sum(one.size_bytes for one in gone)
