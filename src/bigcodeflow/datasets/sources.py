"""Task files on disk, which have the columns of the hub dataset; also the types that all sources of tasks use."""

import gzip
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import BigCodeFlowError, DatasetError, error_message, problem_lines
from bigcodeflow.core.files import file_sha256
from bigcodeflow.core.untrusted_text import MOST_TEST_CHARACTERS, TooLargeError, lines_of

SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz")
#: Columns that Python's parser reads; a file may hold other columns of any size.
_PARSED = ("complete_prompt", "canonical_solution", "code_prompt", "test", "libs")


class ResolvedDataset(NamedTuple):
    """Source of tasks, pinned to its exact content before any task is read."""

    fingerprint: dict[str, Any]  # what identifies the content: hub, version and commit, or file_sha256
    describe: str  # one line for people; mentions if a cached copy replaces the hub
    files: tuple[str, ...]  # the task files: paths within the hub repository at that commit, or the one local path
    solve_rates: "ResolvedDataset | None" = None  # source of solve rates; None without dataset.difficulty


class SourceRow(NamedTuple):
    """Row of a task file, unchanged, with its position in the file, such as 'tasks.jsonl, line 7'."""

    place: str
    values: dict[str, Any]


class FileSource(NamedTuple):
    """File of tasks on this machine."""

    path: Path
    name: str  # what people call it: 'starter', or the path as it was given
    setting: str = "dataset.source"  # setting that names the file

    def resolve(self, config: DatasetConfig) -> ResolvedDataset:
        """Pin the file by the sha256 of its bytes."""
        del config  # a file holds every view and needs no network
        sha256 = self._sha256()
        return ResolvedDataset({"file_sha256": sha256}, f"{self.name} (file {sha256[:12]})", (str(self.path),))

    def fetch(self, config: DatasetConfig, resolved: ResolvedDataset) -> tuple[Path, ...]:
        """Return the path of the file; raise DatasetError if the file differs from its pinned content."""
        del config
        if self._sha256() != resolved.fingerprint["file_sha256"]:
            raise DatasetError(f"{self.name}: the file was changed while the run was going on: start the run again")
        return (self.path,)

    def _sha256(self) -> str:
        try:
            return file_sha256(self.path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DatasetError(f"{self.name}: cannot be opened ({reason}): correct {self.setting}") from None


def read_rows(path: Path) -> list[SourceRow]:
    """Read every row of a task file, in file order; raise one DatasetError that lists all unreadable lines."""
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _jsonl_rows(path)
    texts = (
        (row.place, name, text) for row in rows for name in _PARSED if isinstance(text := row.values.get(name), str)
    )
    limit = f"the limit is {MOST_TEST_CHARACTERS:,} characters: shorten it"
    too_large = [one for one in texts if len(one[2]) > MOST_TEST_CHARACTERS]
    raise_problems([f"{place}: {name} has {len(text):,} characters; {limit}" for place, name, text in too_large])
    if not rows:
        raise DatasetError(f"{path}: holds no tasks: write one row per task, see docs/datasets.md")
    return rows


def raise_problems(problems: Sequence[str], kind: type[BigCodeFlowError] = DatasetError) -> None:
    """Raise one error of type ``kind`` that lists all problems; do nothing if ``problems`` is empty."""
    if problems:
        raise kind(problem_lines(problems))


def _parquet_rows(path: Path) -> list[SourceRow]:
    try:
        records = pq.ParquetFile(path).read().to_pylist()
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = error_message(error)
        raise DatasetError(f"{path}: is not a readable Parquet file ({reason}): replace it or delete it") from None
    return [SourceRow(f"{path}, row {number}", record) for number, record in enumerate(records, start=1)]


def _jsonl_rows(path: Path) -> list[SourceRow]:
    rows: list[SourceRow] = []
    problems: list[str] = []
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in lines_of(file):
                if not line.strip():
                    continue
                place = f"{path}, line {number}"
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:  # ValueError: bad JSON and bad UTF-8 alike
                    problems.append(f"{place}: is not JSON in UTF-8 ({error}): write one JSON object per line")
                    continue
                if isinstance(record, dict):
                    rows.append(SourceRow(place, record))
                else:
                    problems.append(f"{place}: holds a {type(record).__name__}: write one JSON object per line")
    except TooLargeError as error:
        raise DatasetError(f"{path}: cannot be read, because {error}: shorten or remove this line") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: cannot be read to its end ({error}): replace it with an intact copy") from None
    raise_problems(problems)
    return rows
