"""Leaderboards as people read them: one ranking a subset and split, ours beside the published figures, in words."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bigcodeflow.config import Split, Subset
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.leaderboard.entries import N_TASKS, RANKINGS, LeaderboardEntry, ordered
from bigcodeflow.results.formatting import title_of


class Rank(NamedTuple):
    """An entry with its position in a ranking."""

    position: int
    """1 is the best; equal scores share a position."""
    entry: LeaderboardEntry
    published: float | None
    """For an entry of ours: what is published for a model of that name, a share; None where nothing is."""

    @property
    def difference_points(self) -> float | None:
        """Ours less published, in points of 100."""
        return None if self.published is None else 100 * (self.entry.pass_at_1 - self.published)


class Ranking(NamedTuple):
    """One subset and split."""

    subset: Subset
    split: Split
    ranks: tuple[Rank, ...]

    @property
    def title(self) -> str:
        """Such as 'Full, Complete: 1,140 tasks'."""
        return f"{self.subset.capitalize()}, {self.split.capitalize()}: {N_TASKS[self.subset]:,} tasks"


def rankings(entries: Iterable[LeaderboardEntry]) -> Iterator[Ranking]:
    """Every ranking that has an entry, full before hard, complete before instruct."""
    found = ordered(entries)
    for subset, split in RANKINGS:
        here = [entry for entry in found if (entry.subset, entry.split) == (subset, split)]
        if here:
            yield Ranking(subset, split, tuple(_ranks(here)))


def _ranks(entries: list[LeaderboardEntry]) -> Iterator[Rank]:
    published = {_bare_name(entry.model): entry.pass_at_1 for entry in entries if entry.origin == "published"}
    position = 0
    for number, entry in enumerate(entries, start=1):
        if number == 1 or entry.pass_at_1 != entries[number - 2].pass_at_1:
            position = number
        # A revision or a fine-tuned copy is not the model that was published.
        ours = entry.origin == "ours" and entry.revision is None
        yield Rank(position, entry, published.get(_bare_name(entry.model)) if ours else None)


def _bare_name(model: str) -> str:
    """What two names of one model have in common: the name without its organisation, in small letters."""
    return model.rpartition("/")[2].casefold()


def score(share: float | None) -> str:
    """A share in percent with one decimal, as published figures have it; empty for None."""
    return "" if share is None else f"{100 * share:.1f}"


def points(difference: float | None) -> str:
    """A difference in points of 100, with its sign; empty for None."""
    return "" if difference is None else f"{round(difference, 1) + 0.0:+.1f}"  # no -0.0


def interval_of(entry: LeaderboardEntry) -> str:
    """Both ends of the 95 % interval in percent; empty where it is unknown."""
    if entry.ci_low is None or entry.ci_high is None:
        return ""
    return f"{100 * entry.ci_low:.1f} to {100 * entry.ci_high:.1f}"


def judged_by(entry: LeaderboardEntry) -> str:
    """Sanitizer and environment; empty for a published entry."""
    if entry.origin == "published":
        return ""
    environment = " ".join(filter(None, (entry.environment, (entry.environment_sha or "")[:12])))
    return f"sanitizer {entry.sanitizer or UNKNOWN}, {environment or f'environment {UNKNOWN}'}"


def entry_line(entry: LeaderboardEntry) -> str:
    """An entry in one line."""
    setting = f" ({entry.setting})" if entry.setting else ""
    title = title_of(entry.title, entry.subset, entry.split)
    return f"{title}{setting}, {entry.origin}: {score(entry.pass_at_1)}"
