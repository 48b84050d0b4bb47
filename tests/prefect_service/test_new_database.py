"""A new service's database is a copy of the first one that this Prefect set up; none is needed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bigcodeflow.prefect_service.start import keep_database, place_database


def tables(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as database:
        return [name for (name,) in database.execute("SELECT name FROM sqlite_master")]


def test_the_first_database_is_kept_and_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the server has not moved out of its write-ahead log; none replaces it, and no cache is no error."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place_database(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    for name in ("first", "second"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as server:
            server.execute("PRAGMA journal_mode = WAL")
            server.execute(f"CREATE TABLE {name} (id)")
            keep_database(tmp_path / f"{name}.db")
    place_database(tmp_path / "new.db")
    assert tables(tmp_path / "new.db") == ["first"]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new.db"))  # a file where the folder should be
    keep_database(tmp_path / "first.db")
