"""The leaderboard: recorded runs beside the published figures, with a history, in many formats and on the hub."""

from bigcodeflow.leaderboard.entries import LeaderboardEntry, Rank, Ranking, entry_line, published_entries, rankings
from bigcodeflow.leaderboard.history import (
    MAX_DROP_POINTS,
    Changes,
    Snapshot,
    change_line,
    changes,
    find_snapshot,
    record_snapshot,
    snapshot_of,
    snapshot_paths,
)
from bigcodeflow.leaderboard.hub import publish
from bigcodeflow.leaderboard.measured_entries import Allowance, entry_of, measured_entries
from bigcodeflow.leaderboard.outputs import card, files

__all__ = [
    "MAX_DROP_POINTS", "Allowance", "Changes", "LeaderboardEntry", "Rank", "Ranking", "Snapshot", "card",
    "change_line", "changes", "entry_line", "entry_of", "files", "find_snapshot", "measured_entries", "publish",
    "published_entries", "rankings", "record_snapshot", "snapshot_of", "snapshot_paths",
]  # fmt: skip
