"""Ranks on the tasks of the verified view, beside those on all tasks."""

from typing import Any

from bigcodeflow.results.statistics import Estimate, Interval
from bigcodeflow_leaderboard.entries import LeaderboardEntry
from bigcodeflow_leaderboard.measured_entries import measured_entries
from bigcodeflow_leaderboard.verified_entries import ranked, verified_ranks, verified_table
from tests.extensions.leaderboard.conftest import ALLOW


def entry(model: str, share: float, **changes: Any) -> LeaderboardEntry:
    values: dict[str, Any] = {"origin": "ours", "model": model, "split": "complete", "subset": "full"}
    return LeaderboardEntry(**values | {"pass_at_1": share, "n_tasks": 1140, "source": "test"} | changes)


def estimate(share: float) -> Estimate:
    return Estimate(share, 0.01, Interval(share - 0.02, share + 0.02), 1137)


def test_ranks_that_change_are_named() -> None:
    """The better model on all tasks may owe its place to tasks that decide nothing."""
    scored = [(entry("a", 0.51), estimate(0.49)), (entry("b", 0.50), estimate(0.50)), (entry("c", 0.4), estimate(0.4))]
    ranks = ranked(scored)
    assert [(one.entry.model, one.original_rank, one.verified_rank) for one in ranks] == [
        ("b", 2, 1),
        ("a", 1, 2),
        ("c", 3, 3),
    ]
    page = verified_table(ranks, "Full, Complete").to_markdown()
    assert "| 1 | 50.0 | 48.0 to 52.0 | 1,137 | 2 | 50.0 | b | 2 to 1 |" in page
    assert "| 3 | 40.0 | 38.0 to 42.0 | 1,137 | 3 | 40.0 | c |  |" in page


def test_equal_scores_share_a_rank() -> None:
    """As on the board of all tasks."""
    ranks = ranked([(entry("a", 0.5), estimate(0.4)), (entry("b", 0.5), estimate(0.4))])
    assert [(one.original_rank, one.verified_rank) for one in ranks] == [(1, 1), (1, 1)]


def test_published_figures_have_no_place(lab: Any) -> None:
    """They are known for all tasks together only; a run whose tasks have no errata keeps its score."""
    lab.run()
    ours = measured_entries(lab.store.root, allow=ALLOW).entries
    (rank,) = verified_ranks(lab.store.root, [entry("p", 0.9, origin="published"), *ours])
    assert rank.original_rank == rank.verified_rank == 1
    assert rank.verified.value == rank.entry.pass_at_1
