"""Stream the texts of a corpus: files of a folder, lines of JSONL, rows of Parquet; never all in memory at once."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError, error_message
from bigcodeflow.core.files import file_sha256
from bigcodeflow.core.paths import shipped, user_path
from bigcodeflow.core.untrusted_text import TooLargeError, lines_of
from bigcodeflow.datasets.hub import DEFAULT_VERSION, HUB_SOURCE, HubSource

_PLAIN = (".txt", ".md", ".py")
_JSONL = (".jsonl", ".jsonl.gz")
_PARQUET = ".parquet"
SUFFIXES = (*_PLAIN, *_JSONL, _PARQUET)
#: Length of the longest text that is read at once; longer texts are split into overlapping pieces.
PIECE_CHARACTERS = 1 << 20
_OVERLAP_CHARACTERS = 1 << 16
_ROWS_AT_ONCE = 256
_MOST_ENDINGS = 5


class CorpusText(NamedTuple):
    """Text of a corpus, or a piece of a long text."""

    file: str
    record: str
    """1-based number of the line or row, then the name of the field if any; '1' for a plain text file."""
    offset: int
    """0-based start of the piece in its record, in characters."""
    text: str


class CorpusFile(NamedTuple):
    """File of a corpus, with its name and size."""

    path: Path
    name: str
    """Path of the file relative to the corpus."""
    size_bytes: int


class Corpus(NamedTuple):
    """Files of a corpus, with a fingerprint that identifies their content."""

    files: tuple[CorpusFile, ...]
    fingerprint: dict[str, Any]
    """Identity of the content: sha256 of each file, or the commit on the hub."""
    description: str
    left_out: str = ""
    """Number and endings of the folder's files that are not searched; empty if all files are searched."""


def open_corpus(source: str, *, offline: bool = False) -> Corpus:
    """Open a folder, a file, or a dataset of the hub as a corpus.

    Raises:
        DatasetError: ``source`` is empty, names no corpus, or has no file with one of SUFFIXES.
    """
    if not source:
        raise DatasetError("corpus: is missing: give a folder, a file, or a hub dataset as OWNER/NAME@SPLIT")
    path = shipped("data/starter/answers.jsonl") if source == "starter" else user_path(source)
    if path.is_dir():
        found = [one for one in sorted(path.rglob("*")) if one.is_file()]
        files = {one.relative_to(path).as_posix(): one for one in found if one.name.endswith(SUFFIXES)}
        if not files:
            raise DatasetError(f"corpus {source}: holds no file that ends in {', '.join(SUFFIXES)}: correct the path")
        return _of_files(source, files, _left_out([one for one in found if not one.name.endswith(SUFFIXES)]))
    if path.is_file():
        if not path.name.endswith(SUFFIXES):
            raise DatasetError(f"corpus {source}: has no known ending: name a file that ends in {', '.join(SUFFIXES)}")
        return _of_files(source, {path.name: path})
    match = HUB_SOURCE.fullmatch(source)
    if match is None:
        raise DatasetError(f"corpus {source}: is neither a folder, nor a file, nor a hub dataset as OWNER/NAME@SPLIT")
    config = DatasetConfig(source=source, offline=offline)
    hub = HubSource(match["repo"], match["version"] or DEFAULT_VERSION, match["commit"])
    resolved = hub.resolve(config)
    fetched = zip(hub.fetch(config, resolved), resolved.files, strict=True)
    sized = tuple(CorpusFile(path, name, path.stat().st_size) for path, name in fetched)
    return Corpus(sized, resolved.fingerprint, resolved.describe)


def _left_out(files: list[Path]) -> str:
    """Describe the files that are not read: their number and endings, the most frequent endings first."""
    if not files:
        return ""
    endings = Counter(one.suffix or "no ending" for one in files)
    told = [f"{count:,} {ending}" for ending, count in endings.most_common(_MOST_ENDINGS)]
    return f"left out {len(files):,}: {', '.join(told)}{', …' if len(endings) > len(told) else ''}"


def _of_files(source: str, files: Mapping[str, Path], left_out: str = "") -> Corpus:
    try:
        found = tuple(CorpusFile(path, name, path.stat().st_size) for name, path in files.items())
        shas = {name: file_sha256(path) for name, path in files.items()}
    except OSError as error:
        raise DatasetError(f"corpus {source}: cannot be read ({error_message(error)}): check its permissions") from None
    read = f"{source} ({len(found):,} files{f'; {left_out}' if left_out else ''})"
    return Corpus(found, {"files": shas}, read, left_out)


def texts_of(file: CorpusFile) -> Iterator[CorpusText]:
    """Yield the texts of one file in order, each with at most PIECE_CHARACTERS characters.

    Raises:
        DatasetError: the file cannot be read to its end.
    """
    try:
        if not file.name.endswith((*_JSONL, _PARQUET)):
            yield from _pieces(file)
            return
        for number, record in _rows(file) if file.name.endswith(_PARQUET) else _lines(file):
            for field, text in _strings(record):
                yield from _cut(file.name, f"{number} {field}".strip(), text)
    except TooLargeError as error:
        raise DatasetError(f"corpus file {file.path}: {error}: shorten the line, or remove it") from None
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        remedy = "replace the file by an intact copy, or remove it"
        raise DatasetError(f"corpus file {file.path}: cannot be read ({error_message(error)}): {remedy}") from None


def _pieces(file: CorpusFile) -> Iterator[CorpusText]:
    """Yield a plain text file in overlapping pieces; bytes that are not UTF-8 become U+FFFD."""
    with TextIOWrapper(file.path.open("rb"), encoding="utf-8", errors="replace", newline="") as stream:
        kept, offset = "", 0
        while more := stream.read(PIECE_CHARACTERS - len(kept)):
            piece = kept + more
            yield CorpusText(file.name, "1", offset, piece)
            kept = piece[-_OVERLAP_CHARACTERS:]
            offset += len(piece) - len(kept)


def _lines(file: CorpusFile) -> Iterator[tuple[int, Any]]:
    with gzip.open(file.path) if file.name.endswith(".gz") else file.path.open("rb") as stream:
        for number, line in lines_of(stream):
            try:
                if line.strip():
                    yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DatasetError(
                    f"corpus file {file.path}, line {number}: is not JSON in UTF-8 ({error}): correct or remove it"
                ) from None


def _rows(file: CorpusFile) -> Iterator[tuple[int, Any]]:
    with pq.ParquetFile(file.path) as parquet:
        batches = parquet.iter_batches(_ROWS_AT_ONCE)
        yield from enumerate((row for batch in batches for row in batch.to_pylist()), start=1)


def _cut(name: str, record: str, text: str) -> Iterator[CorpusText]:
    step = PIECE_CHARACTERS - _OVERLAP_CHARACTERS
    for offset in range(0, max(1, len(text) - _OVERLAP_CHARACTERS), step):
        yield CorpusText(name, record, offset, text[offset : offset + PIECE_CHARACTERS])


def _strings(record: Any) -> Iterator[tuple[str, str]]:
    """Yield (key path such as messages[0].content, text) of every non-empty string in a JSON value."""
    todo = [("", record)]
    while todo:
        path, one = todo.pop()
        if isinstance(one, str) and one:
            yield path, one
        elif isinstance(one, dict):
            todo += [(f"{path}.{key}".lstrip("."), inner) for key, inner in reversed(one.items())]
        elif isinstance(one, list):
            todo += [(f"{path}[{number}]", inner) for number, inner in reversed(list(enumerate(one)))]
