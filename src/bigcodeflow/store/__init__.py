"""The store in a folder or at a URL: Parquet tables that stages exchange, with checksums and keys made of settings."""

from functools import cache
from pathlib import Path

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.paths import located
from bigcodeflow.core.plugins import call_plugin, plugin_entries
from bigcodeflow.store.store import ArtifactRef, LogFiles, Store, StoredFolder, artifact_key

__all__ = [
    "ArtifactRef",
    "LogFiles",
    "Store",
    "StoredFolder",
    "artifact_key",
    "open_store",
]


def open_store(location: Path | str) -> Store:
    """Open the store in a folder or at a URL such as s3://bucket/prefix; no data is read yet.

    A plug-in opens the store at a URL: the entry point of ``bigcodeflow.stores`` with the name of the URL's protocol,
    or else the entry point with the name ``url``.
    """
    place = located(str(location))
    if isinstance(place, Path):
        return Store(place)
    protocol = place.partition("://")[0]
    path = _opener_of(protocol)
    return call_plugin(path, f"the store of {protocol}://", place, returns=Store)


@cache
def _opener_of(protocol: str) -> str:
    """Return MODULE:NAME of the plug-in's function that opens stores at URLs of ``protocol``."""
    entries = plugin_entries("bigcodeflow.stores")
    if (entry := entries.get(protocol) or entries.get("url")) is None:
        raise ConfigError("the plug-ins that open stores at URLs are missing: install bigcodeflow again")
    return entry.value
