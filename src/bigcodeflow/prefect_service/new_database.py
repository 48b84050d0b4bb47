"""A new service's SQLite database: a copy of the first one that the installed Prefect set up for this user.

A server sets an empty database up by all migrations that Prefect ever had, which takes half of its start. The copy is
made before the server has heard of a pool, a deployment or a run.
"""

import sqlite3
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path

from bigcodeflow.core.paths import cache_folder
from bigcodeflow.store.files import bytes_of, write_atomically


def _kept() -> Path:
    return cache_folder() / "prefect" / f"{metadata.version('prefect')}.db"


def place_database(file: Path) -> None:
    """Make the database that is not there yet; none where none was kept: the server makes its own then."""
    if (content := bytes_of(_kept())) is not None:
        write_atomically(file, content)


def keep_database(file: Path) -> None:
    """Keep a database that a server has just set up, where the cache can be written."""
    if _kept().exists():
        return
    with closing(sqlite3.connect(file)) as database, closing(sqlite3.connect(":memory:")) as copy:
        database.backup(copy)
        with suppress(OSError):
            write_atomically(_kept(), copy.serialize())
