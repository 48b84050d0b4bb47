"""What every provider offers, and the helpers that all of them map settings with.

A provider is a class in a module beside this one, which is imported when it is opened.
"""

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


def untaken(sampling: Sampling, reasons: Mapping[str, str]) -> list[str]:
    """One problem for each given parameter that has a reason against it.

    Args:
        sampling: what is asked for.
        reasons: parameter to reason, with remedy where there is a better one than leaving it empty.
    """
    return [unset(f"sampling.{name}", reason) for name, reason in reasons.items() if name in sampling.given()]


def unset(setting: str, reason: str) -> str:
    """The problem of a setting that must be left empty."""
    return f"generation.{setting}: {reason}; set it to null"


def one_answer(samples: int, who: str) -> list[str]:
    """The problem of a provider that gives one answer a request."""
    if samples == 1:
        return []
    return [f"generation.samples_per_request: {who} gives one answer a request; set it to 1"]


def other_form(form: PromptForm, taken: Sequence[PromptForm], who: str) -> list[str]:
    """The problem of a prompt form that is not taken."""
    if form in taken:
        return []
    return [f"generation.prompt.form: {who} does not take {form!r}; set it to {' or '.join(taken)}"]


def too_many_stops(sampling: Sampling, most: int, who: str) -> list[str]:
    """The problem of more stop texts than a provider takes."""
    if len(sampling.stop) <= most:
        return []
    return [f"generation.sampling.stop: {who} takes {most} texts at most; given: {len(sampling.stop)}"]


def turns(request: Request) -> list[dict[str, Any]]:
    """A prompt's turns as most providers take them."""
    return [{"role": message.role, "content": message.text} for message in request.prompt.messages]


def given_fields(request: Request, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a request's body for the parameters that are given, in the order of the names.

    Args:
        request: holds the parameters.
        names: the provider's field to ours: a field of `Sampling`, 'seed', 'stream' (always false), or 'n' for the
            number of answers, which is sent only where it is more than one.
    """
    samples = len(request.sample_indices)
    values = {**request.sampling.given(), "seed": request.seed, "n": samples if samples > 1 else None, "stream": False}
    fields = {field: values.get(name) for field, name in names.items()}
    return {
        field: list(value) if isinstance(value, tuple) else value
        for field, value in fields.items()
        if value is not None
    }


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A body with further fields laid over it, objects field by field."""
    result = dict(body)
    for key, value in extra.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[key] = merged(before, value)
        else:
            result[key] = value
    return result
