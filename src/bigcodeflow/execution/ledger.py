"""Durable verdicts of an unfinished stage: one line a verdict, written by the worker the moment it stands.

A line that a kill tore in two is dropped; every other line is a finished execution, and is never run again.
"""

import json
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


class Ledger:
    """The verdicts in one folder. Each instance appends to files of its own, so that writers never meet."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._writer = folder, uuid.uuid4().hex

    def append(self, verdict: dict[str, Any], batch: str) -> None:
        """Write one verdict in a single call, so that it is there whole or not at all."""
        line = json.dumps(verdict, separators=(",", ":")) + "\n"
        # Looking a batch up in one of many folders takes the same time in a small and in a large stage.
        path = self._folder / batch[:2] / f"{batch}.{self._writer}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)  # a twin of this run may have published and removed it
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            data = memoryview(line.encode())
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)

    def read(self, batch: str = "") -> Iterator[dict[str, Any]]:
        """Every whole verdict, or those of one batch."""
        for path in sorted(self._folder.glob(f"{batch[:2]}/{batch}.*.jsonl" if batch else "*/*.jsonl")):
            with path.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    with suppress(ValueError):
                        yield json.loads(line)


def read_ledgers(folders: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Every whole verdict of several unfinished stages; a folder that is published meanwhile is passed over."""
    for folder in folders:
        with suppress(FileNotFoundError):
            yield from Ledger(folder).read()
