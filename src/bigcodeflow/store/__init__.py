"""The store: content-keyed, checksummed Parquet tables that stages hand to one another, in a folder or at a URL."""

from bigcodeflow.store.files import file_sha256, locked, write_atomically
from bigcodeflow.store.journal import Lines
from bigcodeflow.store.refs import ArtifactRef, artifact_key
from bigcodeflow.store.remote import Remote, RemoteObject
from bigcodeflow.store.store import Store

__all__ = [
    "ArtifactRef",
    "Lines",
    "Remote",
    "RemoteObject",
    "Store",
    "artifact_key",
    "file_sha256",
    "locked",
    "write_atomically",
]
