"""Removing from a store at a URL: its manifest goes first, so that an artifact is there whole or not at all."""

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from bigcodeflow.pipeline.retention.folder import remove_answers
from bigcodeflow.pipeline.retention.things import MANIFEST, Entry, Removable
from bigcodeflow.store import Remote, RemoteObject

_PART = ".parquet"


class BucketPlace:
    """A store at a URL, with what this machine has of it in its replica.

    Objects have no time of last use but that of their writing: what a run finds there it marks by writing the manifest
    again (`bigcodeflow.store.Store.find`). Other machines keep in their replicas what goes here.
    """

    def __init__(self, remote: Remote, replica: Path) -> None:
        self._remote, self._replica = remote, replica

    def entries(self, folder: str) -> Iterator[Entry]:
        """What is in a folder of the store, by name."""
        found: dict[str, dict[str, RemoteObject]] = {}
        for name, facts in self._remote.objects(folder).items():
            top, _, rest = name.partition("/")
            found.setdefault(top, {})[rest] = facts
        for top, objects in sorted(found.items()):
            torn = all(name.endswith(_PART) for name in objects)
            size_bytes = sum(facts.size_bytes for facts in objects.values())
            yield Entry(f"{folder}/{top}", torn, size_bytes, _last_used(objects))

    def remove(self, one: Removable, limit: datetime) -> bool:
        """Remove the objects of one thing; false where somebody has used it meanwhile."""
        here = self._replica / one.name
        if one.kind == "run record":
            self._remote.delete([one.name])
            here.unlink(missing_ok=True)
            return True
        objects = self._remote.objects(one.name)
        if not objects or _last_used(objects) >= limit:
            return False
        if one.kind == "answers" and here.is_dir() and not remove_answers(here):
            return False
        self._remote.delete([f"{one.name}/{MANIFEST}"] if MANIFEST in objects else [])
        self._remote.delete([f"{one.name}/{name}" for name in objects if name != MANIFEST])
        shutil.rmtree(here, ignore_errors=True)
        return True


def _last_used(objects: dict[str, RemoteObject]) -> datetime:
    """An artifact's manifest is written again when it is found; of anything else the newest object tells."""
    telling = [objects[MANIFEST]] if MANIFEST in objects else objects.values()
    return max(facts.written_at for facts in telling)
