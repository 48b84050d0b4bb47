"""What the cleaning of a store shows in the Prefect UI."""

from collections.abc import Sequence

from prefect.artifacts import create_table_artifact
from prefect.logging import get_run_logger

from bigcodeflow.pipeline.retention import Removable, RetentionConfig, removed_rows, totals

#: Rows of the table; a store may hold many thousands of artifacts, and an artifact of Prefect 512 KB.
_MOST_ROWS = 500


def show_removed(config: RetentionConfig, found: Sequence[Removable]) -> None:
    """Attach what went, or would go, as a table: the largest first."""
    told = "Would go" if config.dry_run else "Went"
    rows = removed_rows(found)[:_MOST_ROWS]
    described = f"{told} from {config.store}: {totals(found)}"
    create_table_artifact(rows, key="retention", description=described)
    get_run_logger().info("%s", described)
