"""Puts replies on the disk while further requests are under way: written at once, synced together.

What is written survives the process; what is synced survives the machine, and only then counts.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.answers import ReplyRecord

#: How long a reply waits for others to be synced with.
_GROUP_SECONDS = 0.05


class RecordWriter(Protocol):
    """What puts records on the disk."""

    def write(self, record: ReplyRecord) -> None:
        """Write one record; raises GenerationError where the disk does not take it."""

    def sync(self) -> None:
        """Wait until what was written is on the disk; raises GenerationError where it cannot be. Runs in a thread."""


class GroupCommit:
    """Syncs what was written in groups, in a thread; used by one event loop."""

    def __init__(self, writer: RecordWriter, counted: Callable[[int], None]) -> None:
        """Get ready.

        Args:
            writer: where the replies go.
            counted: called in the loop with a number of samples that are on the disk now, and with 0 when `check` has
                something to raise.
        """
        self._writer, self._counted = writer, counted
        self._unsynced = 0
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._error: GenerationError | None = None

    @property
    def idle(self) -> bool:
        """Whether everything is on the disk."""
        return self._task is None or self._task.done()

    def put(self, record: ReplyRecord) -> None:
        """Write a reply. Does not wait, so that no cancellation can come between a reply and its record.

        Raises:
            GenerationError: the disk does not take it.
        """
        self._writer.write(record)
        self._unsynced += len(record.answers)
        if self.idle:
            self._task = asyncio.get_running_loop().create_task(self._sync())

    def check(self) -> None:
        """Raise what syncing failed with.

        Raises:
            GenerationError: the disk did not take the replies.
        """
        if self._error is not None:
            raise self._error

    async def close(self) -> None:
        """Wait until everything is on the disk.

        Raises:
            GenerationError: the disk did not take the replies.
        """
        self._closing.set()
        if self._task is not None:
            await asyncio.shield(self._task)
        self.check()

    async def _sync(self) -> None:
        try:
            while self._unsynced:
                await self._company()
                samples, self._unsynced = self._unsynced, 0
                await asyncio.to_thread(self._writer.sync)
                self._counted(samples)
        except GenerationError as error:  # this task has no caller to raise it to
            self._error = error
            self._counted(0)

    async def _company(self) -> None:
        """Wait for further replies to come, unless none will."""
        try:
            async with asyncio.timeout(_GROUP_SECONDS):
                await self._closing.wait()
        except TimeoutError:
            return
