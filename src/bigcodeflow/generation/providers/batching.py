"""What every provider's batch API offers: many requests handed over at once, answered within a day for less money."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.providers.base import Endpoint
from bigcodeflow.generation.providers.transport import called

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProviderBatchLimits:
    """The most that one batch may hold."""

    requests: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """How far a batch is, as the provider tells it."""

    ended: bool
    """Nothing more is coming: what there is can be collected."""
    succeeded: int = 0
    failed: int = 0
    """Refused, failed, expired or cancelled requests; providers may tell them only once the batch has ended."""
    duration_seconds: float | None = None
    """From submission to the end; None where it has not ended or the provider does not say."""
    rejection: RequestError | None = None
    """Why the provider took none of the requests, such as a queue that is too short for the batch."""


@dataclass(frozen=True, slots=True)
class LostBatch:
    """A batch that was perhaps submitted, and whose id was lost on its way here."""

    tag: str
    requests: int
    """How many it holds."""
    since: datetime
    """It was not submitted before, by this machine's clock."""
    known: frozenset[str] = frozenset()
    """Ids of batches that it is not."""


class BatchSearch(NamedTuple):
    """What the provider's list of batches says about one that was perhaps submitted."""

    batch_id: str | None
    """The batch; None where it is not there or cannot be told yet."""
    undecided: tuple[str, ...] = ()
    """Batches that may be it, and that do not show their tag before they end."""


class BatchApi(Protocol):
    """An open connection to the batch API of one model; used by one event loop.

    Every method raises RequestError where there is no answer, and sends once: retries are the driver's.
    """

    limits: ProviderBatchLimits

    def size_bytes(self, custom_id: str, request: Request) -> int:
        """Bytes that a request takes of a batch."""

    async def submit(self, entries: Sequence[tuple[str, Request]]) -> str:
        """Hand requests over, and return the batch's id.

        Args:
            entries: custom id and request, within the limits; the ids begin with one tag, which `find` looks for.
        """

    async def find(self, lost: LostBatch) -> BatchSearch:
        """Look for a batch in the provider's list."""

    async def status(self, batch_id: str) -> BatchStatus:
        """How far a batch is."""

    def results(self, batch_id: str) -> AsyncGenerator[tuple[str, Reply | RequestError], None]:
        """Custom id and outcome of the requests of a batch that has ended, in any order; some may be missing."""

    async def cancel(self, batch_id: str) -> None:
        """Ask the provider to stop; what is answered already can still be collected. One that has ended stays so."""

    async def close(self) -> None:
        """Give connections back."""


def tag_of(custom_id: str) -> str:
    """The tag of a batch in the custom id of one of its requests."""
    return custom_id.rpartition("-")[0]


def required_text(data: Mapping[str, Any], name: str) -> str:
    """A field that an answer about a batch cannot do without.

    Raises:
        RequestError: it is not there.
    """
    value = data.get(name)
    if isinstance(value, str) and value:
        return value
    raise RequestError("malformed", f"the answer about a batch has no {name!r}")


class ByteStream(Protocol):
    """A response of either SDK whose content is still coming."""

    def iter_bytes(self) -> AsyncIterator[bytes]:
        """The content in pieces."""


async def json_lines(
    endpoint: Endpoint, opening: AbstractAsyncContextManager[ByteStream], *failures: type[Exception]
) -> AsyncGenerator[dict[str, Any], None]:
    """The results of a batch, one object a line, without holding them all.

    Lines end at a line feed only: texts may hold other line ends, where the decoders of HTTP clients would cut them.
    A line that is no result is passed over; the driver misses it by its count.

    Args:
        endpoint: for the deadline of each piece, and for the key that no message may hold.
        opening: the streaming call.
        failures: the SDK's own errors.

    Raises:
        RequestError: the content broke off.
    """
    response = await called(endpoint, opening.__aenter__(), *failures)
    try:
        pieces, rest = response.iter_bytes(), b""
        while piece := await called(endpoint, anext(pieces, b""), *failures):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if (result := _result(line)) is not None:
                    yield result
        if (result := _result(rest)) is not None:
            yield result
    finally:
        await opening.__aexit__(None, None, None)


def _result(line: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(line) if line.strip() else None
    except ValueError:
        data = {}
    if data is None or (isinstance(data, dict) and isinstance(data.get("custom_id"), str)):
        return data
    logger.warning("a line among the results of a batch is no result: %d bytes", len(line))
    return None
