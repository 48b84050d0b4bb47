"""What a leaderboard is made of: one entry a score, ours or published."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from bigcodeflow.config import Split, Subset

Origin = Literal["ours", "published"]


class _Literal(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class RunLink(_Literal):
    """Where a score of ours comes from."""

    record: str
    """The run's record in the store: runs/{record}.json."""
    dataset: str
    """Hub dataset with version and commit, or the file name, that the tasks came from."""
    dataset_revision: str | None
    """Commit of the hub dataset; null for files."""
    artifacts: Mapping[str, str]
    """Keys of the run's artifacts by stage: 'dataset', 'generation', 'sanitizing', 'ground_truth', 'execution' and
    'aggregation'."""


class Entry(_Literal):
    """Calibrated pass@1 of one model under one setting, on one split and subset."""

    origin: Origin
    """'ours': measured by a recorded run; 'published': taken from BigCodeBench's own leaderboard."""
    model: str
    """The model, as ORGANISATION/NAME where the organisation is known."""
    revision: str | None
    """Commit, tag or branch of the model; null where it is the main one or unknown."""
    setting: str
    """How the model was asked, for people; empty where it is unknown."""
    setting_key: str
    """Identity of everything in the setting, as 12 hex digits; empty for published figures."""
    split: Split
    """'complete' or 'instruct'."""
    subset: Subset
    """'full' or 'hard'."""
    pass_at_1: float = Field(ge=0, le=1)
    """The score, a share in 0..1 over all tasks of the subset."""
    ci_low: float | None
    """Lower end of the 95 % interval, a share; null for published figures."""
    ci_high: float | None
    """Upper end of it."""
    n_tasks: int
    """Tasks behind the score."""
    n_samples: int | None
    """Samples behind the score; null where it is unknown."""
    ground_truth_rate: float | None
    """Share of tasks whose own solution passes where the samples were executed; null where it is unknown."""
    sanitizer: str | None
    """'none', 'parity' or 'robust'; null for published figures and imported results."""
    environment: str | None
    """Name of the sandbox environment; null for published figures and imported results."""
    environment_sha: str | None
    """Identity of its libraries and data; null where it is unknown."""
    evaluated_at: AwareDatetime | None
    """When the run finished, UTC; null for published figures."""
    model_date: str | None
    """Day of the model's release, as published; null where it is unknown."""
    size_b: float | None
    """Parameters in billions; null where they are unknown."""
    remarks: tuple[str, ...]
    """What was allowed although entries are refused for it otherwise, and quarantined tasks that count; empty for a
    sound entry."""
    source: str
    """Who measured: bigcodeflow with its version, or the published leaderboard."""
    run: RunLink | None
    """Where the score comes from; null for published figures."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes two entries of two leaderboards the same one: origin, model, revision, setting, split, subset."""
        return (self.origin, self.model, self.revision or "", self.setting_key, self.split, self.subset)

    @property
    def title(self) -> str:
        """The model with its revision."""
        return f"{self.model}@{self.revision}" if self.revision else self.model


def ordered(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries in the order of every output: full before hard, complete before instruct, the best first."""
    return tuple(sorted(entries, key=lambda entry: (entry.subset, entry.split, -entry.pass_at_1, *entry.identity)))


def content_sha256(entries: Iterable[Entry]) -> str:
    """Identity of a leaderboard's content, as 64 hex digits; the order of its entries does not count."""
    content = [entry.model_dump(mode="json") for entry in ordered(entries)]
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
