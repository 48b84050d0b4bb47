"""What every source of tasks has in common: how it is identified, and the rows that it yields."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from bigcodeflow.config import DatasetConfig


class ResolvedDataset(NamedTuple):
    """A source pinned to one content, before any of it was read."""

    fingerprint: dict[str, str]
    """What identifies the content: hub, version and commit, or file_sha256."""
    describe: str
    """One line for people; says so where a cached copy stands in for the hub."""
    files: tuple[str, ...]
    """The task files: paths within the hub repository at that commit, or the one local path."""


class SourceRow(NamedTuple):
    """One task as its source states it."""

    place: str
    """Where it stands, such as 'tasks.jsonl, line 7'."""
    values: dict[str, Any]


class TaskSource(Protocol):
    """A place that tasks come from."""

    def resolve(self, config: DatasetConfig) -> ResolvedDataset:
        """Pin the content without reading it.

        Raises:
            DatasetError: the source is absent, unreachable or not permitted.
        """

    def fetch(self, config: DatasetConfig, resolved: ResolvedDataset) -> tuple[Path, ...]:
        """Local files with the pinned content, downloaded where need be.

        Raises:
            DatasetError: the pinned content cannot be had any more.
        """
