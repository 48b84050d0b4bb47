"""A store's leaderboard brought up to date: entries of now, what has changed, a snapshot, files, and the hub."""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from bigcodeflow.core.errors import ArtifactError, BigCodeFlowError
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.leaderboard import history, hub, outputs
from bigcodeflow.leaderboard.entries import published_entries
from bigcodeflow.leaderboard.measured_entries import Allowance, measured_entries
from bigcodeflow.store import write_atomically


class LeaderboardConfig(SettingsModel):
    """Which runs are shown, and where."""

    store: str = "results/store"
    """Folder of artifacts whose recorded runs are taken."""
    out: str = "results/leaderboard"
    """Folder for the leaderboard's files."""
    runs: tuple[str, ...] = ()
    """Take only these runs, by record, run or model name; empty takes the latest of every model and setting."""
    allow: tuple[Allowance, ...] = ()
    """Take runs although this is wrong with them, and say so in the entry."""
    max_drop_points: float = Field(default=history.MAX_DROP_POINTS, ge=0, le=100)
    """Points that a score may drop where its tasks cannot be compared one by one."""
    fail_on_regression: bool = False
    """End as failed where a score has dropped beyond chance since the last snapshot."""
    repository: str = Field(default="", examples=["my-organisation/bigcodebench-results"])
    """Dataset repository of the Hugging Face Hub to publish to, OWNER/NAME; empty publishes nothing. Needs HF_TOKEN."""
    dry_run: bool = True
    """Only say which files the repository would have; asks nobody, so HF_TOKEN is not needed."""


class LeaderboardUpdate(NamedTuple):
    """What bringing a leaderboard up to date came to."""

    snapshot: history.Snapshot
    changes: history.Changes | None
    """Since the snapshot before; None where there was none."""
    refusals: tuple[str, ...]
    """Runs that cannot be shown, and why."""
    files: tuple[Path, ...]
    published: hub.Published | None
    """What was, or would be, written to the hub; None where no repository is named."""


def update_leaderboard(config: LeaderboardConfig, now: datetime) -> LeaderboardUpdate:
    """Record what the store's runs say now, compare it with the last snapshot, write the files, and publish.

    Raises:
        ArtifactError: a run that was named is refused, or nothing of ours is there to be published.
        PublishingError: the hub did not take it.
    """
    measured = measured_entries(config.store, runs=config.runs, allow=config.allow)
    entries = (*published_entries(), *measured.entries)
    changes = None
    if history.snapshot_paths(config.store):
        before = history.find_snapshot(config.store, "latest").entries
        points = config.max_drop_points
        changes = history.changes(before, entries, store_root=config.store, max_drop_points=points)
    snapshot = history.record_snapshot(config.store, entries, now)
    out = Path(config.out).expanduser()
    files = tuple(write_atomically(out / name, content) for name, content in outputs.files(snapshot).items())
    published = None
    if config.repository:
        if not measured.entries:
            raise ArtifactError(f"{config.store}: has no run that can be published: run a model first")
        published = hub.publish(snapshot, config.repository, dry_run=config.dry_run)
    return LeaderboardUpdate(snapshot, changes, measured.refusals, files, published)


def refuse_regressions(update: LeaderboardUpdate) -> None:
    """End with a line for each score that has dropped beyond chance since the last snapshot, if any has."""
    if update.changes is not None and update.changes.regressions:
        raise BigCodeFlowError(
            "\n".join(f"regression: {history.change_line(one)}" for one in update.changes.regressions)
        )
