"""Ranking of measured entries by their scores on verified tasks: tasks whose verdicts hold in the verified view.

Published figures exist only for all tasks together, so this ranking leaves published entries out.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.core.table import Cell, Column, Table
from bigcodeflow.results.formatting import percent_range
from bigcodeflow.results.runs import recorded_run
from bigcodeflow.results.statistics import Estimate
from bigcodeflow.results.verified import verified_scores
from bigcodeflow.store import open_store
from bigcodeflow_leaderboard.entries import LeaderboardEntry, score


class VerifiedRank(NamedTuple):
    """Ranks of a measured entry among measured entries: on all tasks, and on the verified tasks."""

    entry: LeaderboardEntry
    original_rank: int
    verified: Estimate
    verified_rank: int

    @property
    def changes(self) -> bool:
        """True if the entry has another rank on the verified tasks than on all tasks."""
        return self.original_rank != self.verified_rank


def verified_ranks(store_root: Path | str, entries: Iterable[LeaderboardEntry]) -> list[VerifiedRank]:
    """Rank measured entries by their scores on the verified tasks, the best first; leave out published entries."""
    return ranked([(entry, _verified(store_root, entry)) for entry in entries if entry.origin == "ours"])


def ranked(scored: Sequence[tuple[LeaderboardEntry, Estimate]]) -> list[VerifiedRank]:
    """Rank entries by their scores on the verified tasks, the best first; equal scores share a rank."""
    ranks = [
        VerifiedRank(
            entry,
            1 + sum(other.pass_at_1 > entry.pass_at_1 for other, _ in scored),
            found,
            1 + sum(other.value > found.value for _, other in scored),
        )
        for entry, found in scored
    ]
    return sorted(ranks, key=lambda rank: (rank.verified_rank, rank.entry.identity))


def verified_table(ranks: Sequence[VerifiedRank], title: str) -> Table:
    """Build a table of ranks and scores on verified and on all tasks; entries whose rank changes are emphasized."""
    names = ("rank", "pass@1", "95 % interval", "tasks", "original rank", "original pass@1")
    columns: list[str | Column] = [
        *(Column(name, "right", wrap="never") for name in names),
        Column("model"),
        "rank changes",
    ]
    rows = [
        [
            Cell(cell, "strong" if rank.changes else "")
            for cell in (
                rank.verified_rank,
                score(rank.verified.value),
                percent_range(rank.verified.interval),
                rank.verified.n_tasks,
                rank.original_rank,
                score(rank.entry.pass_at_1),
                "\n".join(filter(None, (rank.entry.title, rank.entry.setting))),
                f"{rank.original_rank} to {rank.verified_rank}" if rank.changes else "",
            )
        ]
        for rank in ranks
    ]
    return Table.of(columns, rows, title=f"{title}, verified tasks, our runs only")


def _verified(store_root: Path | str, entry: LeaderboardEntry) -> Estimate:
    """Return an entry's score on verified tasks; if every task is verified, return its own score, without interval."""
    if entry.run is not None:
        run = recorded_run(open_store(store_root), entry.run.record)
        for one in verified_scores(run.path("dataset"), run.path("execution")):
            if (one.variant, one.sanitizer) == ("calibrated", entry.sanitizer or UNKNOWN):
                return one.verified
    return Estimate(entry.pass_at_1, None, None, entry.n_tasks)
