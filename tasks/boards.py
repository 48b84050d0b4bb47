"""What the leaderboard and the cleaning of a store show in the Prefect UI."""

from collections.abc import Iterator, Sequence

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.logging import get_run_logger

from bigcodeflow.leaderboard import Changes, Ranking, change_line, entry_line, rankings
from bigcodeflow.leaderboard.rankings import interval_of, points, score
from bigcodeflow.leaderboard.update import LeaderboardConfig, LeaderboardUpdate
from bigcodeflow.results.formatting import board_title

#: Ranks of each ranking that the UI shows beside all of our own.
_TOP = 20


def show_leaderboard(config: LeaderboardConfig, update: LeaderboardUpdate) -> None:
    """Attach the rankings under one key that stays, so that its latest version is the leaderboard of now."""
    rows = [row for ranking in rankings(update.snapshot.entries) for row in _rows(ranking)]
    told = f"Leaderboard of {config.store}: the first {_TOP} ranks of each ranking, and all of ours"
    create_table_artifact(rows, key="leaderboard", description=told)
    page = "\n\n".join(_page(update)) + "\n"
    create_markdown_artifact(page, key="leaderboard-changes", description="What is new on the leaderboard")
    for change in update.changes.regressions if update.changes else ():
        get_run_logger().warning("regression: %s", change_line(change))
    for refusal in update.refusals:
        get_run_logger().info("left out: %s", refusal)


def _rows(ranking: Ranking) -> Iterator[dict[str, str]]:
    for rank in ranking.ranks:
        entry = rank.entry
        if rank.position <= _TOP or entry.origin == "ours":
            yield {
                "board": board_title(ranking.subset, ranking.split),
                "rank": str(rank.position),
                "model": entry.title,
                "setting": entry.setting,
                "pass@1": score(entry.pass_at_1),
                "95 % interval": interval_of(entry),
                "origin": entry.origin,
                "less published": points(rank.difference_points),
            }


def _page(update: LeaderboardUpdate) -> Iterator[str]:
    yield f"# Leaderboard {update.snapshot.name}"
    yield from _told(update.changes) if update.changes else ["The first snapshot: there is nothing to compare with."]
    if update.refusals:
        yield "## Runs that cannot be shown\n\n" + _list(str(refusal) for refusal in update.refusals)
    if update.published is not None:
        written = _list(f"`{path}`" for path in update.published.written) or "Nothing: the hub shows this already."
        yield f"## On the hub\n\n{written}"
    yield "## Files\n\n" + _list(f"`{path.absolute()}`" for path in update.files)


def _told(changes: Changes) -> Iterator[str]:
    others = [change for change in changes.changed if not change.regression]
    for heading, lines in (
        ("Regressions", [change_line(change) for change in changes.regressions]),
        ("Changed", [change_line(change) for change in others]),
        ("New", [entry_line(entry) for entry in changes.new]),
        ("Gone", [entry_line(entry) for entry in changes.gone]),
    ):
        if lines:
            yield f"## {heading}\n\n{_list(lines)}"
    yield f"{changes.unchanged:,} entries are unchanged."


def _list(lines: Iterator[str] | Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
