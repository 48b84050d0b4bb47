"""The store: content-keyed, checksummed Parquet tables that stages hand to one another.

Layout: ``{store}/{stage}/{key}/part-0.parquet`` beside ``manifest.json``. An artifact is published by one rename, so
a folder without a manifest is unfinished work and is never read.
"""

import errno
import gzip
import hashlib
import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field

import bigcodeflow
from bigcodeflow.errors import ArtifactError

_PART = "part-0.parquet"
_MANIFEST = "manifest.json"
_ROWS_PER_GROUP = 20_000


class ArtifactRef(BaseModel):
    """What one stage hands to the next: where a table lies and what it must hash to."""

    model_config = ConfigDict(frozen=True)

    stage: str
    key: str
    rows: int
    sha256: str
    statistics: dict[str, Any] = Field(default_factory=dict)
    """What the stage counted while it worked, such as rows executed and rows reused."""


def artifact_key(stage: str, version: int, settings: Mapping[str, Any], inputs: Sequence[str] = ()) -> str:
    """Identity of a stage's output: sha256 of everything that can change it, as 64 hex digits.

    Args:
        stage: the stage's name.
        version: the stage's version constant, bumped when its code changes the outcome.
        settings: JSON-able settings that the stage reads; never ones that only change speed.
        inputs: keys of the artifacts that it reads.
    """
    identity = json.dumps([stage, version, settings, list(inputs)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(identity.encode()).hexdigest()


def write_atomically(target: Path, content: bytes, *, compress: bool = False) -> Path:
    """Write a file that is there whole or not at all; gzip it without a time stamp if asked to."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    aside.write_bytes(gzip.compress(content, mtime=0) if compress else content)
    aside.replace(target)
    return target


def file_sha256(path: Path) -> str:
    """Sha256 of a file's bytes, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Store:
    """A folder of artifacts that any number of runs may share."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).expanduser().resolve()

    def folder(self, stage: str, key: str) -> Path:
        """Where the artifact lies, or would lie."""
        return self.root / stage / key

    def workspace(self, stage: str, key: str) -> Path:
        """Folder for a stage's durable unfinished work; created here, gone once the artifact is published."""
        path = self.root / stage / f"{key}.partial"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def find(self, stage: str, key: str) -> ArtifactRef | None:
        """The published artifact, or None where there is none or its content no longer matches its manifest."""
        folder = self.folder(stage, key)
        try:
            manifest = json.loads((folder / _MANIFEST).read_text())
            ref = ArtifactRef.model_validate(manifest["artifact"])
            intact = file_sha256(folder / _PART) == ref.sha256
        except (OSError, ValueError, KeyError):
            return None
        return ref if intact else None

    def publish(
        self,
        stage: str,
        key: str,
        table: pa.Table,
        *,
        settings: Mapping[str, Any],
        inputs: Sequence[ArtifactRef] = (),
        statistics: Mapping[str, Any] | None = None,
    ) -> ArtifactRef:
        """Write the table and its manifest aside, then put both in place with one rename."""
        target = self.folder(stage, key)
        aside = target.with_name(f"{key}.{uuid.uuid4().hex}.tmp")
        aside.mkdir(parents=True)
        part = aside / _PART
        pq.write_table(table, part, compression="zstd", row_group_size=_ROWS_PER_GROUP)
        ref = ArtifactRef(
            stage=stage,
            key=key,
            rows=table.num_rows,
            sha256=file_sha256(part),
            statistics=dict(statistics or {}),
        )
        manifest = {
            "artifact": ref.model_dump(),
            "settings": dict(settings),
            "inputs": [{"stage": given.stage, "key": given.key, "sha256": given.sha256} for given in inputs],
            "bigcodeflow": bigcodeflow.__version__,
            "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "columns": table.schema.names,
        }
        (aside / _MANIFEST).write_text(json.dumps(manifest, indent=2))
        _put_in_place(aside, target)
        shutil.rmtree(target.with_name(f"{key}.partial"), ignore_errors=True)
        # Another run may have published the same key first; its bytes are then the artifact.
        return self.find(stage, key) or ref

    def read(self, ref: ArtifactRef, columns: list[str] | None = None) -> pa.Table:
        """The artifact's table.

        Raises:
            ArtifactError: the artifact is gone or cannot be read.
        """
        path = self.path(ref)
        try:
            return pq.read_table(path, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise ArtifactError(f"artifact {path} cannot be read ({error}): run the {ref.stage} stage again") from error

    def path(self, ref: ArtifactRef) -> Path:
        """The artifact's Parquet file."""
        return self.folder(ref.stage, ref.key) / _PART

    def published(self, stage: str) -> list[Path]:
        """Parquet files of every finished artifact of a stage."""
        return sorted(manifest.with_name(_PART) for manifest in self.root.glob(f"{stage}/*/{_MANIFEST}"))


def _put_in_place(aside: Path, target: Path) -> None:
    """Rename a folder over whatever stands there; of several that do so at once, the last stays, whole."""
    while True:
        try:
            aside.replace(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return
        displaced = target.with_name(f"{target.name}.{uuid.uuid4().hex}.old")
        with suppress(FileNotFoundError):  # another writer displaced it first
            target.replace(displaced)
        shutil.rmtree(displaced, ignore_errors=True)
