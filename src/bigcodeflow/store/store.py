"""A store in a folder, and a store at a URL with a replica of it in a folder of each machine.

Folder: ``{store}/{stage}/{key}/part-0.parquet`` beside ``manifest.json``, published by one rename. A folder without a
manifest is unfinished work and is never read.

URL: objects ``{stage}/{key}/{sha256 of the part}.parquet`` and, written last, ``{stage}/{key}/manifest.json``. The
manifest is the artifact: parts have names by content, so that publishers that meet overwrite nothing that a manifest
names, and the last manifest stays. What is read is brought into the replica, which has the layout of a folder, and is
checked on the way. The replica may be deleted at any time, but for unfinished work of the last seconds.
"""

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import bigcodeflow
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.paths import located
from bigcodeflow.store.files import file_sha256, put_folder_in_place, write_atomically
from bigcodeflow.store.journal import Journal, Lines
from bigcodeflow.store.refs import ArtifactRef
from bigcodeflow.store.remote import Remote, open_remote
from bigcodeflow.store.replica import replica_folder

_PART = "part-0.parquet"
_MANIFEST = "manifest.json"
_UNFINISHED = ".partial"
_ROWS_PER_GROUP = 20_000
_DOWNLOADS_AT_ONCE = 8
#: Less than the shortest time for which retention keeps what nobody uses.
_BETWEEN_MARKS = timedelta(hours=6)


class Store:
    """Artifacts and small files that any number of runs, on any number of machines, may share."""

    def __init__(self, location: Path | str) -> None:
        """Nothing is read before it is asked for.

        Args:
            location: a folder, or a URL such as s3://bucket/prefix.
        """
        place = located(str(location))
        self._url = None if isinstance(place, Path) else place
        self.location = str(place)
        """What people call the store; `Store` of it is this store again."""
        self.root = place if isinstance(place, Path) else replica_folder(place)
        """The folder of this machine that paths lie in: the store itself, or its replica."""

    @cached_property
    def remote(self) -> Remote | None:
        """The objects of a store at a URL.

        Raises:
            ArtifactError: it cannot be reached.
        """
        return open_remote(self._url) if self._url else None

    def folder(self, stage: str, key: str) -> Path:
        """Where the artifact lies on this machine, or would lie."""
        return self.root / stage / key

    def workspace(self, stage: str, key: str) -> Path:
        """Folder for a stage's durable unfinished work; created here, gone once the artifact is published."""
        path = self.root / stage / f"{key}{_UNFINISHED}"
        path.mkdir(parents=True, exist_ok=True)
        return path

    def unfinished(self, stage: str) -> list[Path]:
        """Workspaces of a stage that were not published, those of other machines included."""
        if self.remote:
            names = {name.partition("/")[0] for name in self.remote.sizes(stage)}
            for name in sorted(name for name in names if name.endswith(_UNFINISHED)):
                self._journal(self.root / stage / name, Lines.VERDICTS).restore()
        return sorted(self.root.glob(f"{stage}/*{_UNFINISHED}"))

    def kept(self, folder: Path, lines: "Lines") -> AbstractContextManager[object]:
        """Bring what other machines have appended to a folder's files, and keep what is appended meanwhile.

        A folder needs no keeping. At a URL, a run that goes on on another machine misses the last seconds at most.
        """
        return self._journal(folder, lines) if self.remote else nullcontext()

    def discard(self, folder: Path) -> None:
        """Remove a workspace that has served, everywhere."""
        shutil.rmtree(folder, ignore_errors=True)
        if self.remote:
            name = folder.relative_to(self.root).as_posix()
            self.remote.delete([f"{name}/{one}" for one in self.remote.sizes(name)])

    def find(self, stage: str, key: str) -> ArtifactRef | None:
        """The published artifact, or None where there is none or its content no longer matches its manifest."""
        ref = _intact(self.folder(stage, key))
        if self.remote is None:
            return ref
        manifest = self.remote.read(f"{stage}/{key}/{_MANIFEST}")
        published = _described(manifest)
        if manifest is None or published is None:
            return None
        if published != ref and not self._fetched(published, manifest):
            return None
        self._use(published, manifest)
        return published

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
        """Write the table and its manifest aside, then put both in place at once."""
        target = self.folder(stage, key)
        aside = _aside(target)
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
        if self.remote:
            self.remote.upload(_part_name(ref), part)
            self.remote.upload(f"{stage}/{key}/{_MANIFEST}", aside / _MANIFEST)
        put_folder_in_place(aside, target)
        self.discard(target.with_name(f"{key}{_UNFINISHED}"))
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
        """The artifact's Parquet file, brought here where it is not."""
        folder = self.folder(ref.stage, ref.key)
        here = _described(_bytes(folder / _MANIFEST)) == ref and (folder / _PART).is_file()
        if self.remote and not here:
            self._bring(ref.stage, ref.key)
        return folder / _PART

    def part(self, stage: str, key: str) -> Path | None:
        """The Parquet file of the artifact of that key, brought here where it is not; None where there is none."""
        path = self.folder(stage, key) / _PART
        if self.remote and not path.is_file():
            self._bring(stage, key)
        return path if path.is_file() else None

    def published(self, stage: str) -> list[Path]:
        """Parquet files of every finished artifact of a stage, brought here where they are not."""
        if self.remote is None:
            return sorted(manifest.with_name(_PART) for manifest in self.root.glob(f"{stage}/*/{_MANIFEST}"))
        parts: dict[str, set[str]] = {}
        for name in map(PurePosixPath, self.remote.sizes(stage)):
            parts.setdefault(str(name.parent), set()).add(name.stem if name.suffix == ".parquet" else name.name)
        keys = sorted(key for key, names in parts.items() if _MANIFEST in names)
        stale = [key for key in keys if not self._is_here(stage, key, parts[key])]
        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE, "bigcodeflow-store") as pool:
            list(pool.map(lambda key: self._bring(stage, key), stale))
        paths = [self.folder(stage, key) / _PART for key in keys]
        return [path for path in paths if path.is_file()]

    def versions(self, stage: str) -> dict[str, str]:
        """Keys of a stage's finished artifacts, each with a text that changes whenever its content does."""
        if self.remote is None:
            return dict(_local_versions(self.root / stage))
        found: dict[str, set[str]] = {}
        for name in map(PurePosixPath, self.remote.sizes(stage)):
            found.setdefault(str(name.parent), set()).add(name.name)
        return {key: "|".join(sorted(names)) for key, names in found.items() if _MANIFEST in names}

    def columns(self, stage: str, key: str, schema: pa.Schema) -> pa.Table | None:
        """Columns of an artifact, null where it lacks them; of one at a URL nothing else is brought here.

        Returns:
            None where the artifact is gone or damaged.
        """
        part: Any = self.folder(stage, key) / _PART
        try:
            if self.remote and not part.is_file():
                ref = _described(self.remote.read(f"{stage}/{key}/{_MANIFEST}"))
                if ref is None:
                    return None
                with self.remote.open(_part_name(ref)) as file:
                    return _columns(file, schema)
            return _columns(part, schema)
        except (OSError, pa.ArrowException):
            return None

    def write(self, name: str, content: bytes) -> Path:
        """Put a small file, such as a run's record, and return where it lies on this machine."""
        if self.remote:
            self.remote.write(name, content)
        return write_atomically(self.root / name, content)

    def file(self, name: str) -> Path | None:
        """A small file as it is now; None where there is none."""
        path = self.root / name
        if self.remote:
            content = self.remote.read(name)
            if content is None:
                return None
            if _bytes(path) != content:
                write_atomically(path, content)
        return path if path.is_file() else None

    def files(self, folder: str) -> list[Path]:
        """The small JSON files in a folder, by name."""
        if self.remote is None:
            return sorted((self.root / folder).glob("*.json"))
        there = {name: size for name, size in self.remote.sizes(folder).items() if name.endswith(".json")}
        absent = [f"{folder}/{name}" for name, size in there.items() if _size(self.root / folder / name) != size]
        with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE, "bigcodeflow-store") as pool:
            list(pool.map(self.file, absent))
        return [path for path in (self.root / folder / name for name in there) if path.is_file()]

    def _journal(self, folder: Path, lines: "Lines") -> Journal:
        remote = self.remote
        if remote is None:
            raise ValueError(f"{self.location} is a folder, which needs no journal")
        return Journal(remote, folder, folder.relative_to(self.root).as_posix(), lines)

    def _use(self, ref: ArtifactRef, manifest: bytes) -> None:
        """Mark an artifact as used, now and then: retention goes by the time when its manifest was written."""
        content, now = json.loads(manifest), datetime.now(UTC)
        last = content.get("used_at") or content["written_at"]
        if self.remote is None or now - datetime.fromisoformat(last) < _BETWEEN_MARKS:
            return
        content["used_at"] = now.isoformat(timespec="seconds")
        with suppress(ArtifactError):  # a store that may only be read is not cleaned from here either
            self.remote.write(f"{ref.stage}/{ref.key}/{_MANIFEST}", json.dumps(content, indent=2).encode())

    def _is_here(self, stage: str, key: str, names: set[str]) -> bool:
        """Whether the replica holds what is published; of several parts only the manifest tells which one that is."""
        ref = _described(_bytes(self.folder(stage, key) / _MANIFEST))
        return ref is not None and names == {_MANIFEST, ref.sha256}

    def _bring(self, stage: str, key: str) -> bool:
        """Bring the artifact as it is published now."""
        manifest = self.remote.read(f"{stage}/{key}/{_MANIFEST}") if self.remote else None
        ref = _described(manifest)
        return manifest is not None and ref is not None and self._fetched(ref, manifest)

    def _fetched(self, ref: ArtifactRef, manifest: bytes) -> bool:
        """Bring a part into the replica; false where it is not there or not what its manifest says."""
        target = self.folder(ref.stage, ref.key)
        aside = _aside(target)
        try:
            there = self.remote is not None and self.remote.download(_part_name(ref), aside / _PART)
            if not there or file_sha256(aside / _PART) != ref.sha256:
                return False
            (aside / _MANIFEST).write_bytes(manifest)
            put_folder_in_place(aside, target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return True


def _aside(target: Path) -> Path:
    aside = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
    aside.mkdir(parents=True)
    return aside


def _part_name(ref: ArtifactRef) -> str:
    return f"{ref.stage}/{ref.key}/{ref.sha256}.parquet"


def _described(manifest: bytes | None) -> ArtifactRef | None:
    """The artifact that a manifest describes; None where it is damaged or absent."""
    try:
        return ArtifactRef.model_validate(json.loads(manifest)["artifact"]) if manifest else None
    except (ValueError, KeyError):
        return None


def _intact(folder: Path) -> ArtifactRef | None:
    """The artifact in a folder, where its part is what its manifest says; it counts as used now."""
    manifest = folder / _MANIFEST
    ref = _described(_bytes(manifest))
    try:
        intact = ref is not None and file_sha256(folder / _PART) == ref.sha256
        with suppress(PermissionError):  # a store that may only be read is not cleaned from here either
            os.utime(manifest)  # what retention goes by: a run in progress keeps what it has found
    except OSError:
        return None
    return ref if intact else None


def _columns(source: Any, schema: pa.Schema) -> pa.Table:
    with pq.ParquetFile(source, pre_buffer=True) as file:
        table = file.read([name for name in schema.names if name in file.schema_arrow.names])
    absent = [name for name in schema.names if name not in table.schema.names]
    for name in absent:
        table = table.append_column(schema.field(name), pa.nulls(len(table), schema.field(name).type))
    return table.select(schema.names)


def _local_versions(folder: Path) -> Iterator[tuple[str, str]]:
    """Size and time of every finished artifact's part."""
    for path in folder.glob(f"*/{_MANIFEST}"):
        with suppress(OSError):
            facts = path.with_name(_PART).stat()
            yield path.parent.name, f"{facts.st_size}-{facts.st_mtime_ns}"


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
