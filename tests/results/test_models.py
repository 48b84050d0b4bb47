"""Reads of Parquet files share one in-memory database a process, and see nothing of one another."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.results.models import database, sources

_READERS = 8


def _file(folder: Path, number: int) -> Path:
    path = folder / f"it's [{number}]*.parquet"
    pq.write_table(pa.table({"number": [number]}), path)
    return path


def test_readers_of_different_files_see_their_own(tmp_path: Path) -> None:
    """Views of one name, opened by several threads at once, are those of each thread."""
    all_open = Barrier(_READERS)
    with database():  # threads that were all the first could each open one
        pass

    def read(number: int) -> list[tuple[int, ...]]:
        with sources(tasks=_file(tmp_path, number)) as connection:
            connection.execute("CREATE TEMP TABLE found AS FROM source_tasks")
            all_open.wait(30)
            return connection.execute("SELECT s.number, f.number FROM source_tasks s, found f").fetchall()

    with ThreadPoolExecutor(_READERS) as threads:
        assert list(threads.map(read, range(_READERS))) == [[(number, number)] for number in range(_READERS)]


def test_nothing_is_left_of_a_reader(tmp_path: Path) -> None:
    """Its views end with its connection."""
    with sources(tasks=_file(tmp_path, 1)):
        pass
    with database() as connection, pytest.raises(duckdb.CatalogException):
        connection.execute("FROM source_tasks")
