"""SQLite database of a new service: a copy of the first one that the installed Prefect set up for this user.

For an empty database, a server runs all of Prefect's migrations, which takes half of its start time. The copy is made
while the database has no pool, no deployment and no run.
"""

import sqlite3
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path

from bigcodeflow.core.files import bytes_of, write_atomically
from bigcodeflow.core.paths import cache_folder


def _kept() -> Path:
    return cache_folder() / "prefect" / f"{metadata.version('prefect')}.db"


def place_database(file: Path) -> None:
    """Create the missing database from the kept copy; without a copy do nothing: the server then makes its own."""
    if (content := bytes_of(_kept())) is not None:
        write_atomically(file, content)


def keep_database(file: Path) -> None:
    """Copy a database that a server has just set up to the cache, unless there is a copy or the cache is read-only."""
    if _kept().exists():
        return
    with closing(sqlite3.connect(file)) as database, closing(sqlite3.connect(":memory:")) as copy:
        database.backup(copy)
        with suppress(OSError):
            write_atomically(_kept(), copy.serialize())
