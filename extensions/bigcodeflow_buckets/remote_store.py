"""A store at a URL, with a replica of it in a folder of each machine.

Objects: ``{stage}/{key}/{sha256 of the part}.parquet`` and, written last, ``{stage}/{key}/manifest.json``. The manifest
defines the artifact: parts are named by content, so that concurrent publishers overwrite nothing that a manifest names.
The replica has a folder store's layout; it may be deleted at any time, except unfinished work of the last seconds.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.files import bytes_of, file_sha256, replaced_folder
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.store import ArtifactRef, LogFiles, Store, StoredFolder
from bigcodeflow.store.store import MANIFEST, PART, UNFINISHED, columns_of, described
from bigcodeflow_buckets.bucket import Bucket, BucketObject, open_bucket
from bigcodeflow_buckets.log_sync import LogSync

_FOLDER_DIGITS = 16
_DOWNLOADS_AT_ONCE = 8
#: Minimum time between two marks of use; shorter than any time for which retention keeps unused artifacts.
_BETWEEN_MARKS = timedelta(hours=6)


class RemoteStore(Store):
    """Store at a URL, read through a replica in the user's cache or in the folder BIGCODEFLOW_REPLICAS."""

    def __init__(self, url: str) -> None:
        replicas = os.environ.get("BIGCODEFLOW_REPLICAS")
        folder = Path(replicas).expanduser().resolve() if replicas else cache_folder() / "store"
        super().__init__(folder / hashlib.sha256(url.encode()).hexdigest()[:_FOLDER_DIGITS], url)

    @cached_property
    def bucket(self) -> Bucket:
        """Bucket or remote folder with the store's objects, opened on first use."""
        return open_bucket(self.location)

    def _upload(self, ref: ArtifactRef, folder: Path) -> None:
        self.bucket.upload(_part_name(ref), folder / PART)
        self.bucket.upload(f"{ref.stage}/{ref.key}/{MANIFEST}", folder / MANIFEST)

    def find(self, stage: str, key: str) -> ArtifactRef | None:
        manifest = self.bucket.read(f"{stage}/{key}/{MANIFEST}")
        published = described(manifest)
        if manifest is None or published is None:
            return None
        if published != super().find(stage, key) and not self._download_part(published, manifest):
            return None
        # Retention uses the time at which the manifest was written: so an artifact is marked as used now and then.
        content, now = json.loads(manifest), datetime.now(UTC)
        if now - datetime.fromisoformat(content.get("used_at") or content["written_at"]) >= _BETWEEN_MARKS:
            content["used_at"] = now.isoformat(timespec="seconds")
            with suppress(ArtifactError):  # a store that may only be read is not cleaned from here either
                self.bucket.write(f"{stage}/{key}/{MANIFEST}", json.dumps(content, indent=2).encode())
        return published

    def path(self, ref: ArtifactRef) -> Path:
        path = super().path(ref)
        if described(bytes_of(path.with_name(MANIFEST))) != ref or not path.is_file():
            self._download(ref.stage, ref.key)
        return path

    def part(self, stage: str, key: str) -> Path | None:
        if super().part(stage, key) is None:
            self._download(stage, key)
        return super().part(stage, key)

    def published(self, stage: str) -> list[Path]:
        listed = self._listed(stage)
        stale = []
        for key, names in listed.items():
            ref = described(bytes_of(self.folder(stage, key) / MANIFEST))
            # If there are several parts, only the manifest shows which one is published.
            if ref is None or names != {MANIFEST, f"{ref.sha256}.parquet"}:
                stale.append(key)
        _in_parallel(lambda key: self._download(stage, key), stale)
        paths = [self.folder(stage, key) / PART for key in listed]
        return [path for path in paths if path.is_file()]

    def versions(self, stage: str) -> dict[str, str]:
        return {key: "|".join(sorted(names)) for key, names in self._listed(stage).items()}

    def columns(self, stage: str, key: str, schema: pa.Schema) -> pa.Table | None:
        path: Any = super().part(stage, key)
        if path is not None:
            return columns_of(path, schema)
        ref = described(self.bucket.read(f"{stage}/{key}/{MANIFEST}"))
        if ref is not None:
            with suppress(OSError), self.bucket.open(_part_name(ref)) as file:  # gone since its manifest was read
                return columns_of(file, schema)
        return None

    def unfinished(self, stage: str) -> list[Path]:
        folders = {name.partition("/")[0] for name in self.bucket.objects(stage)}
        for name in sorted(name for name in folders if name.endswith(UNFINISHED)):
            self.synchronized(self.root / stage / name, LogFiles.VERDICTS).restore()
        return super().unfinished(stage)

    def synchronized(self, folder: Path, files: LogFiles) -> LogSync:
        return LogSync(self.bucket, folder, folder.relative_to(self.root).as_posix(), files)

    def discard(self, folder: Path) -> None:
        super().discard(folder)
        name = folder.relative_to(self.root).as_posix()
        self.bucket.delete([f"{name}/{one}" for one in self.bucket.objects(name)])

    def write(self, name: str, content: bytes) -> Path:
        self.bucket.write(name, content)
        return super().write(name, content)

    def file(self, name: str) -> Path | None:
        content = self.bucket.read(name)
        if content is None:
            return None
        path = self.root / name
        return path if bytes_of(path) == content else super().write(name, content)

    def files(self, folder: str) -> list[Path]:
        there = {name: facts for name, facts in self.bucket.objects(folder).items() if name.endswith(".json")}
        here = {path.name: path.stat().st_size for path in super().files(folder)}
        stale = [f"{folder}/{name}" for name, facts in there.items() if here.get(name) != facts.size_bytes]
        _in_parallel(self.file, stale)
        return [path for path in (self.root / folder / name for name in there) if path.is_file()]

    def remove_file(self, name: str) -> None:
        self.bucket.delete([name])
        super().remove_file(name)

    def contents(self, folder: str) -> Iterator[StoredFolder]:
        # An object's only time of use is the time of its writing: a run marks an artifact by writing its manifest again
        # (`find`).
        found: dict[str, dict[str, BucketObject]] = {}
        for name, facts in self.bucket.objects(folder).items():
            top, _, rest = name.partition("/")
            found.setdefault(top, {})[rest] = facts
        for top, objects in sorted(found.items()):
            torn = all(name.endswith(".parquet") for name in objects)
            size_bytes = sum(facts.size_bytes for facts in objects.values())
            yield StoredFolder(f"{folder}/{top}", size_bytes, _last_used_at(objects), torn)

    def remove_unused(self, name: str, limit: datetime, *, lock: str = "") -> bool:
        # Replicas on other machines stay.
        objects, here = self.bucket.objects(name), self.root / name
        if not objects or _last_used_at(objects) >= limit:
            return False
        if lock and here.is_dir() and not super().remove_unused(name, limit, lock=lock):
            return False
        # The manifest goes first, so that an artifact is either complete or absent.
        self.bucket.delete([f"{name}/{MANIFEST}"] if MANIFEST in objects else [])
        self.bucket.delete([f"{name}/{one}" for one in objects if one != MANIFEST])
        shutil.rmtree(here, ignore_errors=True)
        return True

    def _listed(self, stage: str) -> dict[str, set[str]]:
        """Return, for the key of each finished artifact of ``stage``, the names of the artifact's objects."""
        found: dict[str, set[str]] = {}
        for name in map(PurePosixPath, self.bucket.objects(stage)):
            found.setdefault(str(name.parent), set()).add(name.name)
        return {key: names for key, names in sorted(found.items()) if MANIFEST in names}

    def _download(self, stage: str, key: str) -> None:
        """Download an artifact into the replica, if the artifact is published."""
        manifest = self.bucket.read(f"{stage}/{key}/{MANIFEST}")
        ref = described(manifest)
        if manifest is not None and ref is not None:
            self._download_part(ref, manifest)

    def _download_part(self, ref: ArtifactRef, manifest: bytes) -> bool:
        """Download an artifact's table into the replica; return False if it is missing or does not match `manifest`."""
        with suppress(FileNotFoundError), replaced_folder(self.folder(ref.stage, ref.key)) as folder:
            self.bucket.download(_part_name(ref), folder / PART)
            if file_sha256(folder / PART) != ref.sha256:
                raise FileNotFoundError
            (folder / MANIFEST).write_bytes(manifest)
            return True
        return False


def _part_name(ref: ArtifactRef) -> str:
    return f"{ref.stage}/{ref.key}/{ref.sha256}.parquet"


def _in_parallel(action: Callable[[str], object], names: Iterable[str]) -> None:
    with ThreadPoolExecutor(_DOWNLOADS_AT_ONCE, "bigcodeflow-store") as pool:
        list(pool.map(action, names))


def _last_used_at(objects: dict[str, BucketObject]) -> datetime:
    """Return the manifest's time of writing, which `find` renews; without a manifest, that of the newest object."""
    return max(facts.written_at for facts in ([objects[MANIFEST]] if MANIFEST in objects else objects.values()))
