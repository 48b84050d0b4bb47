"""What lies in a store, as it is looked at for what may go."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

Kind = Literal["run record", "artifact", "unfinished work", "debris", "answers"]
#: A record goes before the artifacts that it names.
ORDER: tuple[Kind, ...] = ("run record", "artifact", "unfinished work", "debris", "answers")
MANIFEST = "manifest.json"


class Entry(NamedTuple):
    """A folder, or what there is of one in a bucket, right below a stage's folder or that of answers."""

    name: str
    """Within the store, such as execution/KEY."""
    torn: bool
    """Whether it is an artifact's part whose publisher never came to the manifest."""
    size_bytes: int
    last_used_at: datetime


class Removable(NamedTuple):
    """One thing that may go."""

    kind: Kind
    name: str
    """Within the store."""
    size_bytes: int
    last_used_at: datetime
    reason: str


class Place(Protocol):
    """Where a store lies, as far as something goes from it."""

    def entries(self, folder: str) -> Iterator[Entry]:
        """What is in a folder of the store, by name."""

    def remove(self, one: Removable, limit: datetime) -> bool:
        """Remove it, with what this machine holds of it; false where it has been used since the limit, or is in use."""
