"""A store in a folder of this machine or of a network file system.

Folder: ``{store}/{stage}/{key}/part-0.parquet`` and ``manifest.json``, published by one rename. A folder without a
manifest is unfinished work and is never read. Plug-ins provide stores at URLs.
"""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from enum import Enum
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field

import bigcodeflow
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import bytes_of, file_sha256, locked, replaced_folder, write_atomically

PART = "part-0.parquet"
MANIFEST = "manifest.json"
UNFINISHED = ".partial"
_ROWS_PER_GROUP = 20_000


class ArtifactRef(BaseModel):
    """Reference to an artifact that a stage passes to the next: stage and key, and the sha256 of the table's file."""

    model_config = ConfigDict(frozen=True)

    stage: str
    key: str
    rows: int
    sha256: str
    statistics: dict[str, Any] = Field(default_factory=dict)
    """Counts of the stage's work, such as rows executed and rows reused."""


class StoredFolder(NamedTuple):
    """An entry of a folder of the store, such as an artifact; `name` is its path in the store, as execution/KEY."""

    name: str
    size_bytes: int
    last_used_at: datetime
    torn: bool = False  # True: an artifact's part whose publisher never wrote the manifest


def artifact_key(stage: str, version: int, settings: Mapping[str, Any], inputs: Sequence[str] = ()) -> str:
    """Return the identity of a stage's output: sha256 of everything that can change it, as 64 hex digits.

    `version` is increased when the stage's code changes the outcome. `settings` are the stage's settings in JSON types,
    without settings that change only the speed. `inputs` are the keys of the artifacts that the stage reads.
    """
    identity = json.dumps([stage, version, settings, list(inputs)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(identity.encode()).hexdigest()


class LogFiles(Enum):
    """Kinds of logs of unfinished work: glob pattern of the files, and name for copies of other machines' files."""

    VERDICTS = ("*/*.jsonl", "restored/{}")
    ANSWERS = ("replies-*.jsonl", "replies-000000-{}")
    BATCHES = ("batches.jsonl", "batches.jsonl")
    """A single file that must not be merged: restored only if it does not exist yet."""


class Store:
    """Artifacts and small files that any number of runs, on any number of machines, may share."""

    def __init__(self, root: Path, location: str = "") -> None:
        self.location = location or str(root)  # `open_store` of it is this store again
        self.root = root  # the folder of this machine that paths lie in: the store itself, or its replica

    def folder(self, stage: str, key: str) -> Path:
        """Return the artifact's folder on this machine; it need not exist."""
        return self.root / stage / key

    def workspace(self, stage: str, key: str) -> Path:
        """Create and return the folder that keeps a stage's unfinished work until the artifact is published."""
        path = self.root / stage / f"{key}{UNFINISHED}"
        path.mkdir(parents=True, exist_ok=True)
        return path

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
        """Write the table and its manifest to a new folder, move both into place at once, and return the reference."""
        target = self.folder(stage, key)
        with replaced_folder(target) as folder:
            pq.write_table(table, folder / PART, compression="zstd", row_group_size=_ROWS_PER_GROUP)
            counts, sha256 = dict(statistics or {}), file_sha256(folder / PART)
            ref = ArtifactRef(stage=stage, key=key, rows=table.num_rows, sha256=sha256, statistics=counts)
            manifest = {
                "artifact": ref.model_dump(),
                "settings": dict(settings),
                "inputs": [given.model_dump(include={"stage", "key", "sha256"}) for given in inputs],
                "bigcodeflow": bigcodeflow.__version__,
                "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
                "columns": table.schema.names,
            }
            (folder / MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
            self._upload(ref, folder)
        self.discard(target.with_name(f"{key}{UNFINISHED}"))
        # Another run may have published the same key first; its bytes are then the artifact.
        return self.find(stage, key) or ref

    def read(self, ref: ArtifactRef, columns: list[str] | None = None) -> pa.Table:
        """Return the artifact's table; raise ArtifactError if the file cannot be read."""
        path = self.path(ref)
        try:
            # pq.read_table would import pyarrow.dataset, which imports pandas if that is installed.
            with pq.ParquetFile(path) as file:
                return file.read(columns)
        except (OSError, pa.ArrowException) as error:
            raise ArtifactError(f"artifact {path} cannot be read ({error}): run the {ref.stage} stage again") from error

    def _upload(self, ref: ArtifactRef, folder: Path) -> None:
        """Upload table and manifest from ``folder`` if the store is at a URL; a store in a folder does nothing."""

    def find(self, stage: str, key: str) -> ArtifactRef | None:
        """Return the published artifact; None if it does not exist or its content no longer matches its manifest."""
        manifest = self.folder(stage, key) / MANIFEST
        ref = described(bytes_of(manifest))
        try:
            intact = ref is not None and file_sha256(manifest.with_name(PART)) == ref.sha256
            with suppress(PermissionError):  # a store that may only be read is not cleaned from here either
                os.utime(manifest)  # for retention: a run in progress keeps the artifacts that it uses
        except OSError:
            return None
        return ref if intact else None

    def path(self, ref: ArtifactRef) -> Path:
        """Return the artifact's Parquet file, downloaded if necessary."""
        return self.folder(ref.stage, ref.key) / PART

    def part(self, stage: str, key: str) -> Path | None:
        """Return the Parquet file of the artifact ``key``, downloaded if necessary; None if the store lacks it."""
        path = self.folder(stage, key) / PART
        return path if path.is_file() else None

    def published(self, stage: str) -> list[Path]:
        """Return the Parquet files of every finished artifact of a stage, downloaded if necessary."""
        return sorted(manifest.with_name(PART) for manifest in self.root.glob(f"{stage}/*/{MANIFEST}"))

    def versions(self, stage: str) -> dict[str, str]:
        """Return the keys of a stage's finished artifacts, each with a text that changes when the content changes."""
        found = {}
        for part in self.published(stage):
            with suppress(OSError):
                facts = part.stat()
                found[part.parent.name] = f"{facts.st_size}-{facts.st_mtime_ns}"
        return found

    def columns(self, stage: str, key: str, schema: pa.Schema) -> pa.Table | None:
        """Read the columns of ``schema`` from an artifact; a column that the artifact lacks is null.

        From a store at a URL, only these columns are fetched. Return None if the artifact is missing or damaged.
        """
        return columns_of(self.folder(stage, key) / PART, schema)

    def unfinished(self, stage: str) -> list[Path]:
        """Return the workspaces of a stage's unfinished artifacts, including workspaces of other machines."""
        return sorted(self.root.glob(f"{stage}/*{UNFINISHED}"))

    def synchronized(self, folder: Path, files: LogFiles) -> AbstractContextManager[object]:
        """Return a context that downloads other machines' log lines, then uploads lines appended to ``files``."""
        del folder, files  # other machines read them where they are
        return nullcontext()

    def discard(self, folder: Path) -> None:
        """Remove a workspace that is no longer needed, from this machine and from the store."""
        shutil.rmtree(folder, ignore_errors=True)

    def write(self, name: str, content: bytes) -> Path:
        """Write a small file, such as a run's record, and return its path on this machine."""
        return write_atomically(self.root / name, content)

    def file(self, name: str) -> Path | None:
        """Return the path of the current version of a small file; None if the store does not have the file."""
        path = self.root / name
        return path if path.is_file() else None

    def files(self, folder: str) -> list[Path]:
        """Return the paths of the small JSON files in a folder, sorted by name."""
        return sorted((self.root / folder).glob("*.json"))

    def remove_file(self, name: str) -> None:
        """Remove a small file if it exists."""
        (self.root / name).unlink(missing_ok=True)

    def contents(self, folder: str) -> Iterator[StoredFolder]:
        """Yield the entries of a folder of the store with size and time of last use, sorted by name."""
        for path in sorted((self.root / folder).glob("*")):
            if path.is_dir() or path.suffix:
                size_bytes = sum(one.st_size for one in _stats_below(path))
                yield StoredFolder(f"{folder}/{path.name}", size_bytes, _last_used_at(path))

    def remove_unused(self, name: str, limit: datetime, *, lock: str = "") -> bool:
        """Remove a folder such as execution/KEY and its local copy unless used since ``limit``; tell if it is removed.

        `lock` names a file in the folder that users of the folder lock; if given, this lock decides, not `limit`.
        """
        path = self.root / name
        if lock:
            with suppress(TimeoutError), locked(path / lock, blocking=False):
                shutil.rmtree(path, ignore_errors=True)
                return True
            return False
        if _last_used_at(path) >= limit:
            return False
        aside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.old")
        try:
            path.rename(aside)
        except FileNotFoundError:
            return False  # published, removed or displaced meanwhile
        if _last_used_at(aside) >= limit:
            # A run used it between the last check and the renaming: it goes back, unless that run has made it again.
            with suppress(OSError):
                aside.rename(path)
            return False
        shutil.rmtree(aside, ignore_errors=True) if aside.is_dir() else aside.unlink(missing_ok=True)
        return True


def described(manifest: bytes | None) -> ArtifactRef | None:
    """Return the artifact that a manifest describes; None if the manifest is damaged or absent."""
    try:
        return ArtifactRef.model_validate(json.loads(manifest)["artifact"]) if manifest else None
    except (ValueError, KeyError):
        return None


def columns_of(source: Any, schema: pa.Schema) -> pa.Table | None:
    """Return a Parquet file's columns in ``schema``, null if absent; return None if the file is unreadable."""
    try:
        with pq.ParquetFile(source, pre_buffer=True) as file:
            table = file.read([name for name in schema.names if name in file.schema_arrow.names])
    except (OSError, pa.ArrowException):
        return None
    for name in schema.names:
        if name not in table.schema.names:
            table = table.append_column(schema.field(name), pa.nulls(len(table), schema.field(name).type))
    return table.select(schema.names)


def _last_used_at(path: Path) -> datetime:
    """Return the time of last use: the manifest's time, which `find` updates, else the time of the newest file."""
    manifest = path / MANIFEST
    stats = _stats_below(manifest if manifest.exists() else path)
    return datetime.fromtimestamp(max((one.st_mtime for one in stats), default=0.0), UTC)


def _stats_below(path: Path) -> Iterator[os.stat_result]:
    """Yield the file status (such as size) of the path itself and of every file below it."""
    below = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    for file in chain([path], below):
        with suppress(FileNotFoundError):  # removed meanwhile
            yield file.stat()
