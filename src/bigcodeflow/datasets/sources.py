"""Task files on disk, with the columns of the hub dataset, and parts that all sources of tasks share."""

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
    """A source pinned to one content, before it is read."""

    fingerprint: dict[str, Any]  # what identifies the content: hub, version and commit, or file_sha256
    describe: str  # one line for people; mentions if a cached copy replaces the hub
    files: tuple[str, ...]  # the task files: paths within the hub repository at that commit, or the one local path
    solve_rates: "ResolvedDataset | None" = None  # for the view's difficulty; None if it has none


class SourceRow(NamedTuple):
    """One task as its source states it, and its place there, such as 'tasks.jsonl, line 7'."""

    place: str
    values: dict[str, Any]


class FileSource(NamedTuple):
    """One file of tasks on this machine."""

    path: Path
    name: str  # what people call it: 'starter', or the path as it was given
    setting: str = "dataset.source"  # which names it

    def resolve(self, config: DatasetConfig) -> ResolvedDataset:
        """Pin the file by the sha256 of its bytes."""
        del config  # a file holds every view and needs no network
        sha256 = self._sha256()
        return ResolvedDataset({"file_sha256": sha256}, f"{self.name} (file {sha256[:12]})", (str(self.path),))

    def fetch(self, config: DatasetConfig, resolved: ResolvedDataset) -> tuple[Path, ...]:
        """Return the file itself, after a check that its content is the pinned one."""
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
    """Read every row of one task file, in file order; one DatasetError names all unreadable lines."""
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _jsonl_rows(path)
    texts = (
        (row.place, name, text) for row in rows for name in _PARSED if isinstance(text := row.values.get(name), str)
    )
    limit = f"the limit is {MOST_TEST_CHARACTERS:,} characters: shorten it"
    too_large = [one for one in texts if len(one[2]) > MOST_TEST_CHARACTERS]
    raise_problems([f"{place}: {name} has {len(text):,} characters; {limit}" for place, name, text in too_large])
    if not rows:
        raise DatasetError(f"{path}: holds no tasks: give one row a task, see docs/datasets.md")
    return rows


def raise_problems(problems: Sequence[str], kind: type[BigCodeFlowError] = DatasetError) -> None:
    """Raise all problems as one error, if there are any; see `problem_lines`."""
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
                    problems.append(f"{place}: is not JSON in UTF-8 ({error}): write one object a line")
                    continue
                if isinstance(record, dict):
                    rows.append(SourceRow(place, record))
                else:
                    problems.append(f"{place}: holds a {type(record).__name__}: write one object a line")
    except TooLargeError as error:
        raise DatasetError(f"{path}: {error}: shorten or remove it") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: cannot be read to its end ({error}): replace it by an intact copy") from None
    raise_problems(problems)
    return rows
