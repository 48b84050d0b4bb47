"""What every provider offers, and nothing else: one file each beside this one, its SDK imported when it is opened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bigcodeflow.generation.model_api import PromptForm, Reply, Request, Sampling


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is asked for."""

    model: str
    """The model as the provider names it."""
    base_url: str = ""
    """Address of the server; empty takes the provider's own."""
    api_key: str = ""
    """Empty where none is needed. Never logged, stored or shown."""
    timeout_seconds: float = 600.0
    """Deadline of one request, connection included."""
    connections: int = 64
    """Requests that may be under way at once."""

    def __repr__(self) -> str:
        return f"Endpoint(model={self.model!r}, base_url={self.base_url!r})"


class Provider(Protocol):
    """An open connection to one model; used by one event loop."""

    def problems(self, sampling: Sampling, form: PromptForm, *, seed: int | None, samples: int) -> Sequence[str]:
        """What this provider or model does not take of these settings, one line each: parameter, reason, remedy.

        Asked once, before anything is sent. What is taken with a change of meaning is no problem but stands in `notes`.
        """

    def notes(self, sampling: Sampling, form: PromptForm, *, seed: int | None) -> Sequence[str]:
        """What is done differently from what the settings say, one line each, to be shown and stored."""

    def body(self, request: Request) -> Mapping[str, Any]:
        """Exactly what is sent for a request, without address and key; JSON-able, stored with each sample."""

    async def ask(self, request: Request) -> Reply:
        """Send a request once and wait for the whole reply: no retries, and none of the SDK's own.

        Raises:
            RequestError: there is no answer.
        """

    async def close(self) -> None:
        """Give connections back."""
