"""Flow that brings the leaderboard up to date, and its artifacts in the Prefect UI."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from bigcodeflow.results.formatting import board_title
from bigcodeflow_leaderboard.entries import entry_line, points, rankings, score
from bigcodeflow_leaderboard.history import change_line
from bigcodeflow_leaderboard.publishing import (
    LeaderboardConfig,
    LeaderboardUpdate,
    refuse_regressions,
    update_leaderboard,
)
from flows.hooks import reporting_flow
from tasks.progress import linked
from tasks.stages import perform_step
from tasks.upkeep_artifacts import listed

#: First ranks of each ranking that the UI shows, besides all our own runs.
_TOP = 20
OWN_RUNS = LeaderboardConfig()


@reporting_flow("leaderboard")
def leaderboard(config: LeaderboardConfig = OWN_RUNS) -> str:
    """Update the leaderboard and return the name of its snapshot; log every regression.

    Args:
        config: runs to show, and the folder of the pages.
    """
    update = perform_step("update leaderboard", partial(update_leaderboard, config, datetime.now(UTC)))
    _show_leaderboard(config, update)
    if config.fail_on_regression:
        refuse_regressions(update)
    return update.snapshot.name


def _show_leaderboard(config: LeaderboardConfig, update: LeaderboardUpdate) -> None:
    """Write rankings and changes as Prefect artifacts with fixed keys; log regressions and runs that are left out."""
    rows = [
        {
            "board": board_title(ranking.subset, ranking.split),
            "rank": str(rank.position),
            "model": rank.entry.title,
            "setting": rank.entry.setting,
            "pass@1": score(rank.entry.pass_at_1),
            "95 % interval": rank.entry.interval,
            "origin": rank.entry.origin,
            "less published": points(rank.difference_points),
        }
        for ranking in rankings(update.snapshot.entries)
        for rank in ranking.ranks
        if rank.position <= _TOP or rank.entry.origin == "ours"
    ]
    description = f"Leaderboard of {config.store}: the first {_TOP} ranks of each ranking, and all of ours"
    create_table_artifact(rows, key="leaderboard", description=linked(description, config.store, "/trends"))
    page = "\n\n".join(_page(update)) + "\n"
    described = linked("What is new on the leaderboard", config.store, "/changes")
    create_markdown_artifact(page, key="leaderboard-changes", description=described)
    for change in update.changes.regressions if update.changes else ():
        get_run_logger().warning("regression: %s", change_line(change))
    for refusal in update.refusals:
        get_run_logger().info("left out: %s", refusal)


def _page(update: LeaderboardUpdate) -> Iterator[str]:
    yield f"# Leaderboard {update.snapshot.name}"
    changes = update.changes
    if changes is None:
        yield "The first snapshot: there is nothing to compare with."
    else:
        others = [change for change in changes.changed if not change.regression]
        for heading, lines in (
            ("Regressions", [change_line(change) for change in changes.regressions]),
            ("Changed", [change_line(change) for change in others]),
            ("New", [entry_line(entry) for entry in changes.new]),
            ("Gone", [entry_line(entry) for entry in changes.gone]),
        ):
            if lines:
                yield f"## {heading}\n\n{listed(lines)}"
        yield f"{changes.unchanged:,} entries are unchanged."
    if update.refusals:
        yield "## Runs that cannot be shown\n\n" + listed(update.refusals)
    if update.published is not None:
        written = listed(f"`{path}`" for path in update.published.written) or "Nothing: the hub shows this already."
        yield f"## On the hub\n\n{written}"
    yield "## Files\n\n" + listed(f"`{path.absolute()}`" for path in update.files)
