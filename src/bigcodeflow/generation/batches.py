"""Interface of batch APIs, which answer many requests within a day, at a lower price. Each is a plug-in.

An entry point of the group ``bigcodeflow.batches``, with the name of its provider, names a subclass of `Batches`.
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
    """Samples of a request that a batch did not answer, and that single requests ask for instead."""

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
    """Keeps the state of one setting's batches; the caller has locked its ledger."""
    record: Callable[..., None]
    """Makes `ReplyRecord`s durable; called in a thread. After a crash it may be called again with records that were
    already stored, unless the given requests exclude them."""
    price: Callable[[TokenUsage], float | None] | None = None
    """Returns the cost of a reply in US dollars, or None if it is not known."""
    progress: Callable[[BatchProgress], None] = lambda _: None
    notify: Callable[[str], None] = lambda _: None
    """Called with single lines for the user: the reason for a wait, and the batches that continue after an
    interruption."""


class Batches:
    """An open connection to the batch API of one model, made from an `Endpoint`; used by one event loop."""

    async def run(self, requests: Iterable[Request], run: BatchRun) -> BatchOutcome:
        """Get answers to requests; batches that an earlier run submitted are collected, not submitted again.

        Raises:
            GenerationError: the provider accepts no batch, does not answer for a long time, or no longer knows a batch;
                or the folder is damaged. Collected answers stay recorded, and batches continue.
        """
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connection; batches continue."""


def has_batches(name: str) -> bool:
    """Tell if a batch API of the provider is known."""
    return name in plugin_entries(_GROUP)


def open_batches(name: str, endpoint: Endpoint) -> Batches:
    path = plugin_entries(_GROUP)[name].value
    return call_plugin(path, f"generation.requests.batch of {name}", endpoint, returns=Batches)
