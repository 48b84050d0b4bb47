"""The leaderboard: recorded runs beside the published figures, with a history, in many formats and on the hub."""

from bigcodeflow.leaderboard.entries import LeaderboardEntry, RunLink, published_entries
from bigcodeflow.leaderboard.history import (
    MAX_DROP_POINTS,
    Changes,
    ScoreChange,
    Snapshot,
    change_line,
    changes,
    find_snapshot,
    record_snapshot,
    snapshot_of,
    snapshot_paths,
)
from bigcodeflow.leaderboard.hub import Published, publish
from bigcodeflow.leaderboard.measured_entries import MeasuredEntries, Refusal, entry_of, measured_entries
from bigcodeflow.leaderboard.outputs import CardFormat, card, files
from bigcodeflow.leaderboard.rankings import Rank, Ranking, entry_line, rankings
from bigcodeflow.leaderboard.requirements import LEAST_GROUND_TRUTH_RATE, Allowance

__all__ = [
    "LEAST_GROUND_TRUTH_RATE",
    "MAX_DROP_POINTS",
    "Allowance",
    "CardFormat",
    "Changes",
    "LeaderboardEntry",
    "MeasuredEntries",
    "Published",
    "Rank",
    "Ranking",
    "Refusal",
    "RunLink",
    "ScoreChange",
    "Snapshot",
    "card",
    "change_line",
    "changes",
    "entry_line",
    "entry_of",
    "files",
    "find_snapshot",
    "measured_entries",
    "publish",
    "published_entries",
    "rankings",
    "record_snapshot",
    "snapshot_of",
    "snapshot_paths",
]
