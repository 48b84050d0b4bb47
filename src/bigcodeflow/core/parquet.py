"""Read Parquet files at literal paths; other code opens such files only by ``pq.ParquetFile``, which is literal too.

By default DuckDB, polars and pyarrow read ``k=5`` in a path as a column, and DuckDB and polars ``a?b`` as a pattern.
"""

import glob
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from bigcodeflow.core.errors import ArtifactError, error_message


def read_table(paths: Path | Sequence[Path], columns: list[str] | None = None, **options: Any) -> pa.Table:
    """Read Parquet files as one table, with all columns if ``columns`` is None; ``options`` go to ``pq.read_table``."""
    files = str(paths) if isinstance(paths, Path) else [str(path) for path in paths]
    return pq.read_table(files, columns=columns, partitioning=None, filesystem=LocalFileSystem(), **options)


def read_artifact(path: Path, columns: list[str] | None = None, **options: Any) -> pa.Table:
    """Read a Parquet file with `read_table`; raise ArtifactError if the file cannot be read."""
    try:
        return read_table(path, columns, **options)
    except (OSError, pa.ArrowException) as error:
        raise ArtifactError(f"{path}: cannot be read ({error_message(error)}): repeat the run that wrote it") from None


def read_frame(path: Path) -> Any:
    """Read a Parquet file into a polars data frame."""
    import polars as pl

    return pl.read_parquet(path, glob=False, hive_partitioning=False)


def duckdb_path(path: Path | str) -> str:
    """Escape pattern characters in a path for DuckDB's read_parquet, which also needs ``hive_partitioning = false``."""
    # DuckDB's patterns match no name with a backslash; a pattern without a match is taken literally.
    return str(path) if "\\" in str(path) else glob.escape(str(path))


def duckdb_source(paths: Iterable[Path | str], *options: str) -> str:
    """Return the DuckDB expression that reads the files as one table; ``options`` are SQL arguments of read_parquet."""
    files = ", ".join("'" + duckdb_path(path).replace("'", "''") + "'" for path in paths)
    return f"read_parquet({', '.join([f'[{files}]', 'hive_partitioning = false', *options])})"
