"""Calls of a batch API, made by `driver.py`: submit a batch, find a lost batch, read a batch's progress and results."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Container, Sequence
from typing import Any, ClassVar, NamedTuple

from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers.http_client import HttpProvider, compact_json
from bigcodeflow_clouds.batches.log import Batch, BatchStatus


class BatchSearch(NamedTuple):
    batch_id: str | None
    """ID of the lost batch; None if the batch does not exist, or cannot be identified yet."""
    undecided: tuple[str, ...] = ()
    """Batches that may be the lost batch, but do not show their tag before they end."""


class BatchCalls(ABC):
    """Calls of the batch API for one model, on an open connection, from a single event loop.

    Every call sends its request once, and raises RequestError if no answer arrives: the driver does the retries.
    """

    most_bytes: ClassVar[int] = 32 * 2**20
    """Maximum size of a batch, even if the provider accepts more: bodies are in memory while they are sent."""
    provider: HttpProvider

    def size_bytes(self, custom_id: str, request: Request) -> int:
        """Return the number of bytes that a request uses in a batch."""
        return len(compact_json(self.entry(custom_id, request))) + 1  # the comma of a list, or the line break of a file

    @abstractmethod
    def entry(self, custom_id: str, request: Request) -> dict[str, Any]:
        """Convert a request to a batch entry in the provider's format."""

    @abstractmethod
    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Submit requests as a batch and return its ID; every custom ID begins with the batch's tag, for `find`."""

    @abstractmethod
    async def find(self, lost: Batch, others: Container[str]) -> BatchSearch:
        """Search the provider's list for the batch ``lost``, skipping IDs in ``others``, which are other batches."""

    @abstractmethod
    async def status(self, batch_id: str) -> BatchStatus:
        """Return the progress of a batch."""

    @abstractmethod
    def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        """Yield custom ID and outcome of each request of an ended batch, in any order; some may be missing."""
