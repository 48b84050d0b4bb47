"""Parts of a leaderboard: an entry for each measured or published score, and a ranking for each subset and split."""

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from bigcodeflow.config import Split, Subset
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.results.formatting import percent_range, title_of
from bigcodeflow.results.published import N_TASKS, bare_name, published_figures


class PublishedModel(BaseModel):
    """Base class of the objects in leaderboard.json; docs/leaderboard.md describes each field."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class RunLink(PublishedModel):
    """Origin of a measured score: its run, dataset and artifacts."""

    record: str
    """The run's record in the store: runs/{record}.json."""
    dataset: str
    """Hub dataset with version and commit, or the file name, that the tasks came from."""
    dataset_revision: str | None
    """Commit of the hub dataset; null for files."""
    artifacts: Mapping[str, str]
    """Keys of the run's artifacts by stage: 'dataset', 'generation', 'sanitizing', 'ground_truth', 'execution' and
    'aggregation'."""


class LeaderboardEntry(PublishedModel):
    """Calibrated pass@1 of one model under one setting, on one split and subset."""

    origin: Literal["ours", "published"]
    """'ours': measured by a recorded run; 'published': taken from BigCodeBench's own leaderboard."""
    model: str
    """The model, as ORGANISATION/NAME where the organisation is known."""
    revision: str | None = None
    """Commit, tag or branch of the model; null if it is the main branch or unknown."""
    setting: str = ""
    """Settings of asking the model and judging its answers, in words; empty if unknown."""
    setting_key: str = ""
    """Identity of everything in the setting, as 12 hex digits; empty for published figures."""
    split: Split
    """'complete' or 'instruct'."""
    subset: Subset
    """'full' or 'hard'."""
    pass_at_1: float = Field(ge=0, le=1)
    """The score, a share in 0..1 over all tasks of the subset."""
    ci_low: float | None = None
    """Lower end of the 95 % interval, a share; null for published figures."""
    ci_high: float | None = None
    """Upper end of the 95 % interval, a share; null for published figures."""
    n_tasks: int
    """Number of tasks behind the score."""
    n_samples: int | None = None
    """Number of samples behind the score; null if it is unknown."""
    ground_truth_rate: float | None = None
    """Share of tasks whose canonical solution passes in the environment of the samples; null if it is unknown."""
    sanitizer: str | None = None
    """'none', 'parity' or 'robust'; null for published figures and imported results."""
    environment: str | None = None
    """Name of the sandbox environment; null for published figures and imported results."""
    environment_sha: str | None = None
    """Identity of the environment's libraries and data; null where it is unknown."""
    evaluated_at: AwareDatetime | None = None
    """Time at which the run finished, UTC; null for published figures."""
    model_date: str | None = None
    """Day of the model's release, as published; null where it is unknown."""
    size_b: float | None = None
    """Parameters in billions; null where they are unknown."""
    remarks: tuple[str, ...] = ()
    """Shortcomings of the run that the user allowed, and the number of quarantined tasks that count; empty for a sound
    entry."""
    source: str
    """Source of the measurement: bigcodeflow with its version, or the published leaderboard."""
    run: RunLink | None = None
    """Record of the run behind the score; null for published figures."""

    @property
    def identity(self) -> tuple[str, ...]:
        """Key that is equal for the same entry in two leaderboards: origin, model, revision, setting, split, subset."""
        return (self.origin, self.model, self.revision or "", self.setting_key, self.split, self.subset)

    @property
    def title(self) -> str:
        """Name of the model, with @ and the revision if the revision is known."""
        return f"{self.model}@{self.revision}" if self.revision else self.model

    @property
    def interval(self) -> str:
        """Both ends of the 95 % interval in percent; empty where it is unknown."""
        return percent_range((self.ci_low, self.ci_high))

    @property
    def judged_by(self) -> str:
        """Sanitizer and environment that the score depends on; empty for a published entry."""
        if self.origin == "published":
            return ""
        environment = " ".join(filter(None, (self.environment, (self.environment_sha or "")[:12])))
        return f"sanitizer {self.sanitizer or UNKNOWN}, {environment or f'environment {UNKNOWN}'}"


def ordered(entries: Iterable[LeaderboardEntry]) -> tuple[LeaderboardEntry, ...]:
    """Sort entries in the order of every output: full before hard, complete before instruct, the best first."""
    return tuple(sorted(entries, key=lambda entry: (entry.subset, entry.split, -entry.pass_at_1, *entry.identity)))


def content_sha256(entries: Iterable[LeaderboardEntry]) -> str:
    """Return the sha256 of a leaderboard's content, as 64 hex digits; the order of its entries does not count."""
    content = [entry.model_dump(mode="json") for entry in ordered(entries)]
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def published_entries() -> list[LeaderboardEntry]:
    """Return one entry for each figure of BigCodeBench's own leaderboard."""
    return [
        LeaderboardEntry(
            origin="published",
            model=one.model,
            split=one.split,
            subset=one.subset,
            pass_at_1=one.pass_at_1,
            n_tasks=N_TASKS[one.subset],
            model_date=one.model_date,
            size_b=one.size_b,
            source="BigCodeBench leaderboard, bigcode-bench.github.io",
        )
        for one in published_figures()
    ]


class Rank(NamedTuple):
    """An entry with its position in a ranking."""

    position: int
    """Position; 1 is the best. Scores that are equal in percent with one decimal, as published, share a position."""
    entry: LeaderboardEntry
    published: float | None
    """Published score of the same model, a share; None if it is unknown, for revisions, and for published entries."""

    @property
    def difference_points(self) -> float | None:
        """Measured score minus published score, in percentage points; None if there is no published score."""
        return None if self.published is None else 100 * (self.entry.pass_at_1 - self.published)


class Ranking(NamedTuple):
    """Ranking of one subset and split."""

    subset: Subset
    split: Split
    ranks: tuple[Rank, ...]

    @property
    def title(self) -> str:
        """Heading of the ranking, such as 'Full, Complete: 1,140 tasks'."""
        return f"{self.subset.capitalize()}, {self.split.capitalize()}: {N_TASKS[self.subset]:,} tasks"


def rankings(entries: Iterable[LeaderboardEntry]) -> Iterator[Ranking]:
    """Yield every ranking that has an entry, full before hard, complete before instruct."""
    for (subset, split), group in itertools.groupby(ordered(entries), key=lambda entry: (entry.subset, entry.split)):
        here = list(group)
        published = {bare_name(entry.model): entry.pass_at_1 for entry in here if entry.origin == "published"}
        # Published figures are rounded: a difference in further decimals does not make a score better.
        shown = [float(score(entry.pass_at_1)) for entry in here]
        ranks = []
        for entry, own in zip(here, shown, strict=True):
            better = sum(other > own for other in shown)
            # A revision or a fine-tuned copy is not the model that was published.
            ours = entry.origin == "ours" and entry.revision is None
            ranks.append(Rank(better + 1, entry, published.get(bare_name(entry.model)) if ours else None))
        yield Ranking(subset, split, tuple(ranks))


def score(share: float | None) -> str:
    """Format a share in percent with one decimal, like published figures; return '' for None."""
    return "" if share is None else f"{100 * share:.1f}"


def points(difference: float | None) -> str:
    """Format a difference in percentage points with its sign and one decimal; return '' for None."""
    return "" if difference is None else f"{round(difference, 1) + 0.0:+.1f}"  # no -0.0


def entry_line(entry: LeaderboardEntry) -> str:
    """Describe an entry in one line: model, subset, split, setting, origin and score."""
    setting = f" ({entry.setting})" if entry.setting else ""
    title = title_of(entry.title, entry.subset, entry.split)
    return f"{title}{setting}, {entry.origin}: {score(entry.pass_at_1)}"
