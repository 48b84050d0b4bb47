"""Dated snapshots of a leaderboard, and the changes between two of them.

Snapshots are stored in ``{store}/leaderboard/``: one file each, never changed after it is written.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

import pyarrow.compute as pc
from pydantic import AwareDatetime, ValidationError

from bigcodeflow.core.errors import ArtifactError, ConfigError, error_message
from bigcodeflow.core.files import locked
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.comparison.changes import Change, adjusted, cause_of, change_of
from bigcodeflow.results.statistics import Interval
from bigcodeflow.store import Store, open_store
from bigcodeflow_leaderboard.entries import (
    LeaderboardEntry,
    PublishedModel,
    content_sha256,
    entry_line,
    ordered,
    points,
    score,
)

_FOLDER = "leaderboard"
#: Largest drop in percentage points that is no regression, if the tasks cannot be compared one by one. The original
#: evaluator varies by 0.2 points (full) to 0.6 points (hard) between executions of the same answers.
MAX_DROP_POINTS = 1.0


class Snapshot(PublishedModel):
    """A leaderboard as it was published at one time."""

    schema_version: Literal[1] = 1
    """Version of this format."""
    taken_at: AwareDatetime
    """Time at which this content was first published, UTC."""
    content_sha256: str
    """Identity of the entries, as 64 hex digits."""
    entries: tuple[LeaderboardEntry, ...]
    """Full before hard, complete before instruct, the best first."""

    @property
    def name(self) -> str:
        """Unique name: time in UTC and start of the content's sha256, so that names sort by time."""
        return f"{self.taken_at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{self.content_sha256[:12]}"

    def to_json(self) -> bytes:
        """Return the content of the snapshot's file."""
        return (self.model_dump_json(indent=2) + "\n").encode()


def snapshot_of(store_root: Path | str, entries: Iterable[LeaderboardEntry], now: datetime) -> Snapshot:
    """Return the latest recorded snapshot if it has the same entries, else a new snapshot, which is not written."""
    found = ordered(entries)
    digest = content_sha256(found)
    latest = next(reversed(snapshot_paths(store_root)), None)
    if latest is not None and latest.stem.endswith(f"-{digest[:12]}"):
        recorded = read_snapshot(latest)
        if recorded.content_sha256 == digest:
            return recorded
    return Snapshot(taken_at=now.astimezone(UTC), content_sha256=digest, entries=found)


def record_snapshot(store_root: Path | str, entries: Iterable[LeaderboardEntry], now: datetime) -> Snapshot:
    """Record the entries as a snapshot and return it; if the latest snapshot has the same entries, return that."""
    store = open_store(store_root)
    # Without the lock, two simultaneous publications of the same content would make two snapshots.
    with locked(store.root / _FOLDER / ".leaderboard.lock"):
        snapshot = snapshot_of(store_root, entries, now)
        name = f"{_FOLDER}/{snapshot.name}.json"
        if store.file(name) is None:
            store.write(name, snapshot.to_json())
    return snapshot


def snapshot_paths(store_root: Path | str) -> list[Path]:
    """Return the files of the store's snapshots, the oldest first."""
    return [path for path in open_store(store_root).files(_FOLDER) if path.name[0].isdigit()]


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot; raise ArtifactError if the file is no snapshot or was changed after it was published."""
    try:
        snapshot = Snapshot.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        reason = error_message(error)
        raise ArtifactError(f"{path}: is not a leaderboard snapshot ({reason}): restore or delete it") from None
    if content_sha256(snapshot.entries) != snapshot.content_sha256:
        raise ArtifactError(f"{path}: was changed after it was published: restore or delete it")
    return snapshot


def needed_artifacts(store: str) -> list[Mapping[str, str]]:
    """Return each run's artifacts (key by stage) in the latest snapshot; the next comparison needs these artifacts."""
    if not snapshot_paths(store):
        return []
    return [entry.run.artifacts for entry in find_snapshot(store, "latest").entries if entry.run]


def find_snapshot(store_root: Path | str, name: str) -> Snapshot:
    """Read the snapshot 'latest' or 'previous', or the only snapshot whose name or sha256 begins with `name`."""
    paths = snapshot_paths(store_root)
    by_time = {"latest": paths[-1:], "previous": paths[-2:-1]}
    fitting = by_time.get(name) or [
        path for path in paths if path.stem.startswith(name) or path.stem.partition("-")[2].startswith(name[:12])
    ]
    if name and len(fitting) == 1:
        return read_snapshot(fitting[0])
    problem = f"fits {len(fitting)} snapshots" if fitting else "fits no snapshot"
    known = ", ".join(path.stem for path in (fitting or paths)[-5:]) or "none (run `bigcodeflow leaderboard write`)"
    raise ConfigError(f"snapshot name {name!r} {problem} in {open_store(store_root).location}; known names: {known}")


class ScoreChange(NamedTuple):
    """A score that differs between two leaderboards."""

    before: LeaderboardEntry
    after: LeaderboardEntry
    interval: Interval | None
    """95 % interval of the difference, as shares, on the tasks that both runs judged; None if the store lacks their
    verdicts."""
    regression: bool
    cause: str
    """Differences of the runs in answers, environment, dataset or program; empty if an entry has no run."""

    @property
    def difference(self) -> float:
        """Later score minus earlier score, as a share between -1 and 1."""
        return self.after.pass_at_1 - self.before.pass_at_1


class Changes(NamedTuple):
    """Differences between two leaderboards: new, missing and changed entries, and the number of unchanged entries."""

    new: tuple[LeaderboardEntry, ...]
    gone: tuple[LeaderboardEntry, ...]
    changed: tuple[ScoreChange, ...]
    """The largest drop first."""
    unchanged: int

    @property
    def regressions(self) -> tuple[ScoreChange, ...]:
        """Drops that chance does not explain, the largest first."""
        return tuple(change for change in self.changed if change.regression)


def changes(
    before: Iterable[LeaderboardEntry],
    after: Iterable[LeaderboardEntry],
    *,
    store_root: Path | str,
    max_drop_points: float = MAX_DROP_POINTS,
) -> Changes:
    """Compare two leaderboards entry by entry.

    A drop is a regression if chance does not explain it, by the paired test of
    :class:`~bigcodeflow.results.comparison.changes.Change`. For published figures and for runs whose verdicts are gone,
    a drop of more than max_drop_points percentage points is a regression.
    """
    old, new = ({entry.identity: entry for entry in entries} for entries in (before, after))
    kept = [(old[identity], new[identity]) for identity in new if identity in old]
    moved = [pair for pair in kept if pair[0].pass_at_1 != pair[1].pass_at_1]
    n_judged_again = sum(_artifact(before, "execution") != _artifact(after, "execution") for before, after in kept)
    found = _scored(moved, open_store(store_root), max(0, n_judged_again - len(moved)), max_drop_points)
    return Changes(
        new=tuple(entry for identity, entry in new.items() if identity not in old),
        gone=tuple(entry for identity, entry in old.items() if identity not in new),
        changed=tuple(sorted(found, key=lambda change: change.difference)),
        unchanged=len(kept) - len(moved),
    )


def _scored(
    moved: Sequence[tuple[LeaderboardEntry, LeaderboardEntry]], store: Store, n_others: int, max_drop_points: float
) -> Iterator[ScoreChange]:
    """Yield a change for each (before, after) pair; adjust p-values for ``n_others`` more pairs, with equal scores."""
    tested = [_tested(before, after, store) for before, after in moved]
    results = iter(adjusted([change for change in tested if change], n_others))
    for (before, after), known in zip(moved, tested, strict=True):
        if known:
            change = next(results)
            yield ScoreChange(before, after, change.interval, change.is_worse, change.cause)
        else:
            # 1e-9: 0.50 - 0.49 is 0.010000000000000009 in binary, and no more than one point.
            regression = 100 * (before.pass_at_1 - after.pass_at_1) > max_drop_points + 1e-9
            yield ScoreChange(before, after, None, regression, _cause(before, after))


def _tested(before: LeaderboardEntry, after: LeaderboardEntry, store: Store) -> Change[LeaderboardEntry] | None:
    """Test the score difference of two entries on the tasks that both judged; None if the store lacks verdicts."""
    old, new = _verdicts(before, store), _verdicts(after, store)
    common = sorted(old.keys() & new.keys())
    if not common:
        return None
    shares = [fmean(old[task_id]) for task_id in common]
    return change_of(
        before,
        after,
        earlier_score=fmean(shares),
        differences=[fmean(new[task_id]) - share for task_id, share in zip(common, shares, strict=True)],
        n_tasks=len(common),
        single=all(len(old[task_id]) == len(new[task_id]) == 1 for task_id in common),
        cause=_cause(before, after),
    )


def _verdicts(entry: LeaderboardEntry, store: Store) -> dict[str, list[bool]]:
    """Return for each task id a list that says of each sample if it passed; empty if the store lacks verdicts."""
    key = _artifact(entry, "execution")
    part = store.part("execution", key) if key else None
    scored = (pc.field("variant") == "calibrated") & (pc.field("sanitizer") == (entry.sanitizer or UNKNOWN))
    # An infra_error says nothing about the sample: counting it would make it a fail.
    scored &= pc.field("status") != "infra_error"
    try:
        rows = read_artifact(part, ["task_id", "status"], filters=scored).to_pylist() if part else []
    except ArtifactError:
        return {}  # then only the size of the drop decides; the change's line mentions it
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        outcomes[row["task_id"]].append(row["status"] == "pass")
    return outcomes


def _cause(before: LeaderboardEntry, after: LeaderboardEntry) -> str:
    if before.run is None or after.run is None:
        return ""
    same_answers = _artifact(before, "generation") == _artifact(after, "generation")
    differing = {
        "another environment": before.environment_sha != after.environment_sha,
        "another dataset": _artifact(before, "dataset") != _artifact(after, "dataset"),
        f"{before.source} then {after.source}": before.source != after.source,
    }
    return cause_of(same_answers=same_answers, differing=differing)


def _artifact(entry: LeaderboardEntry, name: str) -> str | None:
    return entry.run.artifacts.get(name) if entry.run else None


def change_line(change: ScoreChange) -> str:
    """Describe a change in one line: scores, difference in points with interval, and other differences of the runs."""
    line = f"{entry_line(change.before)} → {score(change.after.pass_at_1)} ({points(100 * change.difference)} points"
    if change.interval is None:
        line += "; tasks not compared, as the store lacks verdicts of the two runs"
    else:
        low, high = (points(100 * end) for end in change.interval)
        line += f", paired 95 % interval {low} to {high}"
    return f"{line})" + (f"; {change.cause}" if change.cause else "")
