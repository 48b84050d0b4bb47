"""Tables of many runs read one after the other in one database: opening one anew costs 30 ms each time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results import models

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Reader:
    """A database whose views are of one run at a time."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        """Made by `reader`."""
        self._connection = connection

    @contextmanager
    def of(self, **paths: Path) -> Iterator["DuckDBPyConnection"]:
        """The database with a view over each Parquet file, named ``source_{keyword}``, in place of earlier ones.

        Raises:
            ArtifactError: a file is missing, is not Parquet, or lacks a column that a model reads.
        """
        import duckdb

        try:
            for name, path in paths.items():
                self._connection.read_parquet(models.pattern_of(path)).create_view(f"source_{name}", replace=True)
            yield self._connection
        except duckdb.Error as error:
            files = ", ".join(str(path) for path in paths.values())
            raise ArtifactError(
                f"tables cannot be read ({' '.join(str(error).split())}): run the stages that wrote {files} again"
            ) from error


@contextmanager
def reader() -> Iterator[Reader]:
    """A database to read run after run in."""
    with models.sources() as connection:
        yield Reader(connection)
