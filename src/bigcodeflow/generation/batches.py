"""Interface of batch APIs, which answer many requests within a day, at a lower price.

Batch APIs are plug-ins: an entry point of ``bigcodeflow.batches`` has the provider's name and names a `Batches` class.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bigcodeflow.core.plugins import call_plugin, plugin_entries
from bigcodeflow.generation.model_api import AnswerKey, Request, RequestError, TokenUsage
from bigcodeflow.generation.providers import Endpoint

_GROUP = "bigcodeflow.batches"


class BatchProgress(NamedTuple):
    """Counts over all batches of a run; ``completed`` counts samples, ``failed`` counts requests."""

    batches: int
    batches_ended: int
    completed: int
    failed: int


class Left(NamedTuple):
    """Samples of a request that a batch did not answer; the run then asks for these samples by single requests."""

    samples: list[AnswerKey]
    error: RequestError


class BatchOutcome(NamedTuple):
    recorded: int = 0
    """Number of samples that batches answered."""
    left: tuple[Left, ...] = ()
    cost_usd: float = 0.0
    """Cost of the replies with a known price."""


@dataclass(frozen=True, slots=True)
class BatchRun:
    """Folder and callbacks that a run hands to a batch API."""

    folder: Path
    """Folder for the state of the batches of one setting; the caller has locked the ledger of this setting."""
    record: Callable[..., None]
    """Function that stores `ReplyRecord`s on disk; called in a thread. After a crash it may be called again with
    records that are already stored, unless the requests of the new run exclude their samples."""
    price: Callable[[TokenUsage], float | None] | None = None
    """Function that returns the cost of a reply in US dollars, or None if the cost is unknown."""
    progress: Callable[[BatchProgress], None] = lambda _: None
    notify: Callable[[str], None] = lambda _: None
    """Function that is called with single lines for the user: the reason for a wait, and the batches that continue
    after an interruption."""


class Batches:
    """An open connection to the batch API of one model, made from an `Endpoint`; used by one event loop."""

    async def run(self, requests: Iterable[Request], run: BatchRun) -> BatchOutcome:
        """Submit requests in batches and record the answers; batches of an earlier run are collected, not sent again.

        Raises:
            GenerationError: the provider accepts no batch, does not answer for a long time, or no longer knows a batch;
                or the folder is damaged. Collected answers stay recorded; the provider goes on with submitted batches.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connection; the provider goes on with submitted batches."""


def has_batches(name: str) -> bool:
    """Tell if a plug-in has the batch API of the provider ``name``."""
    return name in plugin_entries(_GROUP)


def open_batches(name: str, endpoint: Endpoint) -> Batches:
    path = plugin_entries(_GROUP)[name].value
    return call_plugin(path, f"generation.requests.batch of {name}", endpoint, returns=Batches)
