"""Task files on disk: Parquet, JSONL and JSONL.gz in the hub dataset's columns."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.artifacts import file_sha256
from bigcodeflow.config import DatasetConfig
from bigcodeflow.datasets.source import ResolvedDataset, SourceRow
from bigcodeflow.errors import DatasetError

SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz")
_PROBLEMS_SHOWN = 20


class FileSource(NamedTuple):
    """One file of tasks on this machine."""

    path: Path
    name: str
    """What people call it: 'starter', or the path as it was given."""

    def resolve(self, config: DatasetConfig) -> ResolvedDataset:
        """Pin the file by the sha256 of its bytes.

        Raises:
            DatasetError: there is no such file, or it cannot be opened.
        """
        del config  # a file holds every view and needs no network
        sha256 = self._sha256()
        describe = f"{self.name} (file {sha256[:12]})"
        return ResolvedDataset({"file_sha256": sha256}, describe, (str(self.path),))

    def fetch(self, config: DatasetConfig, resolved: ResolvedDataset) -> tuple[Path, ...]:
        """The file itself, once it is known to hold what was pinned.

        Raises:
            DatasetError: the file is gone or was changed since it was pinned.
        """
        del config
        if self._sha256() != resolved.fingerprint["file_sha256"]:
            raise DatasetError(f"{self.name}: the file was changed while the run was going on: start the run again")
        return (self.path,)

    def _sha256(self) -> str:
        try:
            return file_sha256(self.path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DatasetError(f"{self.name}: cannot be opened ({reason}): correct dataset.source") from None


def read_rows(path: Path) -> list[SourceRow]:
    """Every row of one task file, in file order.

    Raises:
        DatasetError: the file is damaged, of another format, or empty; all unreadable lines are named at once.
    """
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _jsonl_rows(path)
    if not rows:
        raise DatasetError(f"{path}: holds no tasks: give one row a task, see docs/datasets.md")
    return rows


def raise_problems(problems: list[str]) -> None:
    """Raise all problems as one error, one line each, when there are any.

    Raises:
        DatasetError: problems is not empty; at most 20 are spelled out.
    """
    if not problems:
        return
    shown = problems[:_PROBLEMS_SHOWN]
    hidden = len(problems) - len(shown)
    if hidden:
        shown.append(f"… and {hidden} more: mend these and validate again")
    raise DatasetError("\n".join(shown))


def _parquet_rows(path: Path) -> list[SourceRow]:
    try:
        records = pq.ParquetFile(path).read().to_pylist()
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise DatasetError(f"{path}: is not a readable Parquet file ({reason}): replace it or delete it") from None
    return [SourceRow(f"{path}, row {number}", record) for number, record in enumerate(records, start=1)]


def _jsonl_rows(path: Path) -> list[SourceRow]:
    rows: list[SourceRow] = []
    problems: list[str] = []
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:  # ValueError: bad JSON and bad UTF-8 alike
            problems.append(f"{place}: is not JSON in UTF-8 ({error}): write one object a line")
            continue
        if isinstance(record, dict):
            rows.append(SourceRow(place, record))
        else:
            problems.append(f"{place}: holds a {type(record).__name__}: write one object a line")
    raise_problems(problems)
    return rows


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file):
                # Windows editors start files with a byte order mark, which json refuses.
                yield line.removeprefix(b"\xef\xbb\xbf") if number == 0 else line
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: cannot be read to its end ({error}): replace it by an intact copy") from None
