"""The store: Parquet tables that stages exchange, with checksums, identified by settings; in a folder or at a URL."""

from pathlib import Path

from bigcodeflow.core.paths import located
from bigcodeflow.store.log_sync import LogFiles
from bigcodeflow.store.remote_store import RemoteStore
from bigcodeflow.store.store import ArtifactRef, Store, StoredFolder, artifact_key

__all__ = [
    "ArtifactRef",
    "LogFiles",
    "RemoteStore",
    "Store",
    "StoredFolder",
    "artifact_key",
    "open_store",
]


def open_store(location: Path | str) -> Store:
    """Open the store in a folder or at a URL such as s3://bucket/prefix; nothing is read before it is needed."""
    place = located(str(location))
    return Store(place) if isinstance(place, Path) else RemoteStore(place)
