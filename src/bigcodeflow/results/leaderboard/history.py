"""Dated snapshots of a leaderboard, in ``{store}/leaderboard/``: one file each, never changed after it is written."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.results.leaderboard.entries import Entry, content_sha256, ordered
from bigcodeflow.store import Store, locked

_FOLDER = "leaderboard"
_LOCK = ".leaderboard.lock"
_STAMP = "%Y%m%dT%H%M%S.%fZ"


class Snapshot(BaseModel):
    """A leaderboard as it was published at one time."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    schema_version: Literal[1] = 1
    """Version of this format."""
    taken_at: AwareDatetime
    """When this content was first published, UTC."""
    content_sha256: str
    """Identity of the entries, as 64 hex digits."""
    entries: tuple[Entry, ...]
    """Full before hard, complete before instruct, the best first."""

    @property
    def name(self) -> str:
        """Time and content: unique, and in the order of time."""
        return f"{self.taken_at.astimezone(UTC).strftime(_STAMP)}-{self.content_sha256[:12]}"

    def to_json(self) -> bytes:
        """The snapshot's file."""
        return (self.model_dump_json(indent=2) + "\n").encode()


def snapshot_of(store_root: Path | str, entries: Iterable[Entry], now: datetime) -> Snapshot:
    """The entries as a snapshot: the latest recorded one where it says the same, else a new one that is not written."""
    found = ordered(entries)
    digest = content_sha256(found)
    latest = next(reversed(snapshot_paths(store_root)), None)
    if latest is not None and latest.stem.endswith(f"-{digest[:12]}"):
        recorded = read_snapshot(latest)
        if recorded.content_sha256 == digest:
            return recorded
    return Snapshot(taken_at=now.astimezone(UTC), content_sha256=digest, entries=found)


def record_snapshot(store_root: Path | str, entries: Iterable[Entry], now: datetime) -> Snapshot:
    """Add the entries to the history and return their snapshot; the same content twice in a row is one snapshot."""
    store = Store(store_root)
    # Without the lock two publications of the same content at once would both be new.
    with locked(store.root / _FOLDER / _LOCK):
        snapshot = snapshot_of(store_root, entries, now)
        name = f"{_FOLDER}/{snapshot.name}.json"
        if store.file(name) is None:
            store.write(name, snapshot.to_json())
    return snapshot


def snapshot_paths(store_root: Path | str) -> list[Path]:
    """Files of the store's snapshots, in the order of time."""
    return [path for path in Store(store_root).files(_FOLDER) if path.name[0].isdigit()]


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot and check that it still says what was published.

    Raises:
        ArtifactError: it is no snapshot, or was changed after it was written.
    """
    try:
        snapshot = Snapshot.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        told = " ".join(str(error).split())
        raise ArtifactError(f"{path}: is not a leaderboard snapshot ({told}): restore or delete it") from None
    if content_sha256(snapshot.entries) != snapshot.content_sha256:
        raise ArtifactError(f"{path}: was changed after it was published: restore or delete it")
    return snapshot


def find_snapshot(store_root: Path | str, name: str) -> Snapshot:
    """A snapshot by the beginning of its name or of its content's sha256, or 'latest' or 'previous'.

    Raises:
        ConfigError: there is none, or the name fits several.
        ArtifactError: it cannot be read.
    """
    paths = snapshot_paths(store_root)
    places = {"latest": -1, "previous": -2}
    if name in places:
        fitting = [paths[places[name]]] if len(paths) >= -places[name] else []
    else:
        fitting = [
            path for path in paths if path.stem.startswith(name) or path.stem.partition("-")[2].startswith(name[:12])
        ]
    if name and len(fitting) == 1:
        return read_snapshot(fitting[0])
    problem = f"fits {len(fitting)} snapshots" if fitting else "fits no snapshot"
    known = ", ".join(path.stem for path in (fitting or paths)[-5:]) or "none: run `bigcodeflow leaderboard write`"
    raise ConfigError(f"leaderboard snapshot {name!r} {problem} in {Store(store_root).location}; there: {known}")
