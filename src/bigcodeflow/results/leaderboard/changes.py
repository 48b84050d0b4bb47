"""What a leaderboard says that an earlier one did not."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.comparison.resampling import Range, mean_interval
from bigcodeflow.results.leaderboard.entries import Entry
from bigcodeflow.store import Store

#: Drop in points that counts as a regression where the tasks cannot be compared one by one. The original evaluator
#: varies by 0.2 points (full) to 0.6 points (hard) between executions of the same answers.
MAX_DROP_POINTS = 1.0


class Change(NamedTuple):
    """A score that moved."""

    before: Entry
    after: Entry
    interval: Range | None
    """95 % interval of the difference, paired over tasks, as shares; None where the verdicts are not in the store."""
    regression: bool
    cause: str
    """What else differs between the two runs; empty where nothing is known to."""

    @property
    def difference(self) -> float:
        """After less before, a share."""
        return self.after.pass_at_1 - self.before.pass_at_1


class Changes(NamedTuple):
    """From one leaderboard to another."""

    new: tuple[Entry, ...]
    gone: tuple[Entry, ...]
    changed: tuple[Change, ...]
    """The largest drop first."""
    unchanged: int

    @property
    def regressions(self) -> tuple[Change, ...]:
        """Drops that chance does not explain."""
        return tuple(change for change in self.changed if change.regression)


def changes(
    before: Iterable[Entry], after: Iterable[Entry], *, store_root: Path | str, max_drop_points: float = MAX_DROP_POINTS
) -> Changes:
    """Compare two leaderboards entry by entry.

    A drop is a regression where the 95 % interval of the paired difference over tasks lies below 0. Pairing takes the
    difficulty of the tasks out, which makes the interval far narrower than the two scores' own. Where the verdicts of
    one run are gone, and for published figures, a drop of more than max_drop_points is one.

    Args:
        before: entries of the earlier leaderboard.
        after: entries of the later one.
        store_root: where the verdicts of both lie.
        max_drop_points: see above, in points of 100.
    """
    old, new = ({entry.identity: entry for entry in entries} for entries in (before, after))
    kept = [(old[identity], new[identity]) for identity in new if identity in old]
    moved = [pair for pair in kept if pair[0].pass_at_1 != pair[1].pass_at_1]
    found = [_change(*pair, Store(store_root), max_drop_points) for pair in moved]
    return Changes(
        new=tuple(entry for identity, entry in new.items() if identity not in old),
        gone=tuple(entry for identity, entry in old.items() if identity not in new),
        changed=tuple(sorted(found, key=lambda change: change.difference)),
        unchanged=len(kept) - len(moved),
    )


def _change(before: Entry, after: Entry, store: Store, max_drop_points: float) -> Change:
    interval = _paired_interval(_task_scores(before, store), _task_scores(after, store))
    if interval is not None:
        regression = interval.high < 0
    else:
        # 1e-9: 0.50 - 0.49 is 0.010000000000000009 in binary, and no more than one point.
        regression = 100 * (before.pass_at_1 - after.pass_at_1) > max_drop_points + 1e-9
    return Change(before, after, interval, regression, _cause(before, after))


def _paired_interval(before: Mapping[str, float], after: Mapping[str, float]) -> Range | None:
    """95 % interval of the mean difference, as comparisons give it; None where the tasks are not the same.

    Four verdicts that all went the same way do not count as proof: see docs/statistics.md.
    """
    if not before or before.keys() != after.keys():
        return None
    return mean_interval([after[task_id] - before[task_id] for task_id in sorted(before)])


def _task_scores(entry: Entry, store: Store) -> dict[str, float]:
    """Share of passing samples of each task; empty where the verdicts are not in the store."""
    key = entry.run.artifacts.get("execution") if entry.run else None
    if not key:
        return {}
    columns = ["task_id", "variant", "sanitizer", "status"]
    part = store.part("execution", key)
    try:
        rows = pq.read_table(part, columns=columns).to_pylist() if part else []
    except (OSError, pa.ArrowException):
        return {}  # the drop alone then decides, which the change says
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for row in rows:
        if (row["variant"], row["sanitizer"]) == ("calibrated", entry.sanitizer or UNKNOWN):
            outcomes[row["task_id"]].append(row["status"] == "pass")
    return {task_id: sum(passed) / len(passed) for task_id, passed in outcomes.items()}


def _cause(before: Entry, after: Entry) -> str:
    if before.run is None or after.run is None:
        return ""
    same_answers = before.run.artifacts.get("generation") == after.run.artifacts.get("generation")
    found = ["the same answers, judged again" if same_answers else "other answers"]
    if before.environment_sha != after.environment_sha:
        found.append("another environment")
    if before.run.artifacts.get("dataset") != after.run.artifacts.get("dataset"):
        found.append("another dataset")
    if before.source != after.source:
        found.append(f"{before.source} then {after.source}")
    return ", ".join(found)
