"""What may go from a store: artifacts that no recorded run needs, unfinished work that is left alone, old records.

Age is the time since last use: publishing and finding an artifact both count as use, so that a run in progress, which
has no record yet, keeps what it reads. Records go before the artifacts that they name: whatever kills a removal, no
record is left that names what is gone.
"""

from bigcodeflow.pipeline.retention.deciding import RetentionConfig, removable, remove
from bigcodeflow.pipeline.retention.telling import removed_rows, size_text, totals
from bigcodeflow.pipeline.retention.things import Removable

__all__ = ["Removable", "RetentionConfig", "removable", "remove", "removed_rows", "size_text", "totals"]
