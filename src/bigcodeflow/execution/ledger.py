"""Ledger of an unfinished stage: verdicts and results of checks, written one by one, so that a kill loses none."""

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bigcodeflow.core.files import AppendLog, log_records
from bigcodeflow.judge.verdicts import Verdict

#: Number of leading digits of a key that name its folder in the ledger: 256 folders at most.
_SHARD_DIGITS = 2
#: Columns of VERDICTS in the line of a check's result.
CHECK_COLUMNS = ("verdict_key", "integrity", "integrity_key", "tampering")


class Ledger:
    """Durable verdicts of an unfinished stage: one line per verdict, written by the worker as soon as it is final.

    A line that a kill left incomplete is dropped; every other line is a finished execution, and is never run again.
    Lines are stored in folders by the first digits of their keys, so that a lookup is as fast in a large stage as in a
    small stage. Each writer appends to separate files, so that processes never write to the same file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._writer = folder, uuid.uuid4().hex

    def append(self, verdict: Verdict) -> None:
        """Append a line: a verdict, or the result of a pass's check (only CHECK_COLUMNS); threads may share a ledger.

        After a kill, readers get either the complete line or no line.
        """
        # A concurrent identical run may have published the stage and removed the folder, which is then made again.
        with AppendLog(self._folder / verdict["verdict_key"][:_SHARD_DIGITS] / f"{self._writer}.jsonl") as log:
            log.append(verdict)

    def read(self) -> Iterator[Verdict]:
        for path in sorted(self._folder.glob("*/*.jsonl")):
            yield from _verdicts(path)

    def checks(self) -> Iterator[Mapping[str, Any]]:
        """Yield the results of checks of passing samples, with the columns CHECK_COLUMNS."""
        for path in sorted(self._folder.glob("*/*.jsonl")):
            yield from (line for line in log_records(path) if "integrity_key" in line)

    def find(self, keys: Collection[str], *, own: bool = True) -> Iterator[Verdict]:
        """Yield every complete verdict with one of these keys; if not ``own``, skip verdicts that this object wrote."""
        for shard in sorted({*(key[:_SHARD_DIGITS] for key in keys), "restored"}):
            for path in sorted(self._folder.glob(f"{shard}/*.jsonl")):
                if own or path.stem != self._writer:
                    yield from (line for line in _verdicts(path) if line["verdict_key"] in keys)


def _verdicts(path: Path) -> Iterator[Verdict]:
    return (line for line in log_records(path) if "integrity_key" not in line)


def find_in_ledgers(folders: Iterable[Path], keys: Collection[str]) -> Iterator[Verdict]:
    """Yield complete verdicts with these keys from the ledgers in ``folders``; skip folders that were removed."""
    for folder in folders:
        with suppress(FileNotFoundError):
            yield from Ledger(folder).find(keys)
