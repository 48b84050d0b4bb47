"""The store: content-keyed, checksummed Parquet tables that stages hand to one another, in a folder or at a URL."""

from bigcodeflow.artifacts.files import file_sha256, locked, write_atomically
from bigcodeflow.artifacts.journal import Lines
from bigcodeflow.artifacts.refs import ArtifactRef, artifact_key
from bigcodeflow.artifacts.remote import Remote, RemoteObject
from bigcodeflow.artifacts.store import Store

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
