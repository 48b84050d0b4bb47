"""Providers of models by name, and the helpers that all of them map settings with.

A provider is a class in a module beside this one, which is imported when it is opened.
"""

# ruff: noqa: ARG002 (every provider has the same signatures)

import difflib
import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.model_api import PromptForm, Reply, Request, RequestError, Sampling

if TYPE_CHECKING:
    from bigcodeflow.generation.providers.batch_apis import BatchApi


@dataclass(frozen=True, slots=True)
class Endpoint:
    model: str
    base_url: str = ""
    """Address of the server; empty takes the provider's own."""
    api_key: str = field(default="", repr=False)
    """Empty where none is needed. Never logged, stored or shown."""
    timeout_seconds: float = 600.0
    """Deadline of one request, connection included."""
    connections: int = 64
    """Requests that may be under way at once."""
    limit_parameter: str = "auto"
    """What max_tokens is sent as by the providers of OpenAI's protocol; 'auto' finds out."""


class Provider:
    """An open connection to one model; used by one event loop."""

    def problems(self, request: Request) -> list[str]:
        """What this provider or model does not take of a request's settings, one line each: parameter, reason, remedy.

        Asked once, before anything is sent. What is taken with a change of meaning is no problem but stands in `notes`.
        """
        return []

    def notes(self, request: Request) -> list[str]:
        """What is done differently from what the settings say, one line each, to be shown and stored."""
        return []

    def body(self, request: Request) -> Mapping[str, Any]:
        """Exactly what is sent for a request, without address and key; JSON-able, stored with each sample."""
        raise NotImplementedError

    async def ask(self, request: Request) -> Reply:
        """Send a request once and wait for the whole reply, or raise RequestError: no retries, and none of an SDK's."""
        raise NotImplementedError

    def adapt(self, body: Mapping[str, Any], error: RequestError) -> str:
        """Write further requests otherwise, where one with this body failed for how it was written.

        Returns what is done differently, in words for people: then the request is worth another try. Empty where
        nothing can be done.
        """
        return ""

    async def aclose(self) -> None:
        """Give connections back."""


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    factory: str = ""
    """Module beside this one, and class, of the provider; empty for offline engines."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that hold the key, the first one that is set counts."""
    needs_key: bool = True
    """Whether its own address needs a key; none is needed where another address is given."""
    no_key: str = "not-needed"
    """Taken for the key where nothing is sent."""
    several_answers: bool = False
    batches: str = ""
    """Module and class of its batch API; empty where none is known."""
    offline: bool = False
    """Whether the model is loaded here, by an engine, instead of asked over a network."""
    server: bool = False
    """Whether the model is loaded here by a server that is started for the run."""
    own_address: str = ""
    """Such as https://NAME.openai.azure.com, where every user has an address of their own, which must be named."""
    extra: str = ""
    """Extra of this package that holds the provider's SDK; empty where it needs none."""


#: Providers by the name in front of the colon of generation.model.
PROVIDERS: Mapping[str, ProviderInfo] = MappingProxyType(
    {
        "openai": ProviderInfo(
            "chat_completions.OpenAIProvider",
            ("OPENAI_API_KEY",),
            several_answers=True,
            batches="batch_apis.OpenAIBatches",
        ),
        "openai-responses": ProviderInfo("responses.ResponsesProvider", ("OPENAI_API_KEY",)),
        "azure": ProviderInfo(
            "azure.AzureProvider",
            ("AZURE_OPENAI_API_KEY",),
            needs_key=False,
            several_answers=True,
            own_address="https://NAME.openai.azure.com",
            extra="azure",
        ),
        "anthropic": ProviderInfo(
            "anthropic.AnthropicProvider", ("ANTHROPIC_API_KEY",), batches="batch_apis.AnthropicBatches"
        ),
        "bedrock": ProviderInfo("bedrock.BedrockProvider", needs_key=False, extra="bedrock"),
        "google": ProviderInfo(
            "google.GoogleProvider",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            several_answers=True,
            batches="google_batches.GoogleBatches",
            extra="google",
        ),
        "vertex": ProviderInfo("google.VertexProvider", needs_key=False, several_answers=True, extra="google"),
        "mistral": ProviderInfo(
            "chat_completions.MistralProvider",
            ("MISTRAL_API_KEY",),
            several_answers=True,
            batches="mistral_batches.MistralBatches",
        ),
        "ollama": ProviderInfo("chat_completions.OllamaProvider", ("OLLAMA_API_KEY",), needs_key=False),
        "huggingface": ProviderInfo(
            "chat_completions.HuggingFaceProvider", ("HF_TOKEN",), no_key="hf_not-needed", several_answers=True
        ),
        "vllm": ProviderInfo(needs_key=False, several_answers=True, offline=True),
        "vllm-server": ProviderInfo(
            "chat_completions.VllmServerProvider", needs_key=False, several_answers=True, server=True
        ),
        "transformers": ProviderInfo(needs_key=False, several_answers=True, offline=True),
    }
)


def provider_info(name: str) -> ProviderInfo:
    if name in PROVIDERS:
        return PROVIDERS[name]
    close = difflib.get_close_matches(name.lower(), PROVIDERS, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise ConfigError(f"generation.model: no provider {name!r}; {hint}known: {', '.join(PROVIDERS)}")


def find_key(name: str, *, variable: str = "", base_url: str = "") -> str:
    """The key from the environment, or an empty text where none is needed.

    Only the named variable is read or, where none is named, the provider's usual ones. Those are not read where an
    address is given that need not be, so that a key is never sent to a server that it was not made for. Messages name
    variables, never their content.
    """
    variables = key_variables(name, variable=variable, base_url=base_url)
    for candidate in variables:
        key = os.environ.get(candidate, "").strip()
        if key:
            check_key(key, candidate)
            return key
    if variable or (provider_info(name).needs_key and not base_url):
        raise ConfigError(_no_key(name, variables))
    return ""


def key_variables(name: str, *, variable: str = "", base_url: str = "") -> tuple[str, ...]:
    """The environment variables that may hold the key, in the order in which they are looked at."""
    info = provider_info(name)
    if variable:
        return (variable,)
    return () if base_url and not info.own_address else info.key_variables


def secret_block(variable: str) -> str:
    """Name of the Prefect Secret block that may hold what a variable would; blocks have dashes and small letters."""
    return variable.lower().replace("_", "-")


def _no_key(name: str, variables: Sequence[str]) -> str:
    return (
        f"{name} needs a key: set the environment variable {' or '.join(variables)}; for runs that the UI starts, make "
        f"a Prefect Secret block named {' or '.join(map(secret_block, variables))}, or name a file that sets the "
        "variable: bigcodeflow up --env-file FILE"
    )


def open_provider(name: str, endpoint: Endpoint) -> Provider:
    """Connect to a provider; nothing is sent yet."""
    info = provider_info(name)
    if info.offline:
        raise ConfigError(f"generation.model: {name} loads models here and is not asked over a network")
    if endpoint.base_url:
        _check_address(endpoint.base_url)
    elif info.own_address:
        raise ConfigError(f"generation.base_url: {name} needs your address, such as {info.own_address}")
    if endpoint.api_key:
        check_key(endpoint.api_key, f"the key of {name}")
    elif info.needs_key and not endpoint.base_url:
        raise ConfigError(_no_key(name, info.key_variables))
    try:
        provider: Provider = _class(info.factory)(endpoint)
    except ModuleNotFoundError as error:
        if not info.extra or (error.name or "").startswith("bigcodeflow"):
            raise
        raise ConfigError(
            f"generation.model: {name} needs the package {error.name}: pip install 'bigcodeflow[{info.extra}]'"
        ) from None
    return provider


def open_batches(name: str, endpoint: Endpoint) -> "BatchApi":
    api: BatchApi = _class(provider_info(name).batches)(endpoint)
    return api


def _class(factory: str) -> Any:
    module, _, name = factory.partition(".")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def check_key(key: str, where: str) -> None:
    """Refuse a key with what no key has; it would fail in the transport, whose message would show it."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{where}: holds a blank, a line break or another character that no key has")


def _check_address(address: str) -> None:
    import httpx2

    try:
        parts = urlsplit(address)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        httpx2.URL(address)  # as the client reads it
    except (ValueError, httpx2.InvalidURL):
        valid = False
    if not valid:
        raise ConfigError(f"generation.base_url: {address!r} is no address, such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise ConfigError("generation.base_url: holds a user or password; give the key in an environment variable")


def untaken(sampling: Sampling, reasons: Mapping[str, str]) -> list[str]:
    """One problem for each given parameter that has a reason against it."""
    return [unset(f"sampling.{name}", reason) for name, reason in reasons.items() if name in sampling.given()]


def unset(setting: str, reason: str) -> str:
    return f"generation.{setting}: {reason}; set it to null"


def other_form(request: Request, taken: Sequence[PromptForm], who: str) -> list[str]:
    if (form := request.prompt.form) in taken:
        return []
    return [f"generation.prompt.form: {who} does not take {form!r}; set it to {' or '.join(taken)}"]


def too_many_stops(sampling: Sampling, most: int, who: str) -> list[str]:
    if len(sampling.stop) <= most:
        return []
    return [f"generation.sampling.stop: {who} takes {most} texts at most; given: {len(sampling.stop)}"]


def turns(request: Request) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": message.text} for message in request.prompt.messages]


def system_prompt(request: Request) -> str:
    """The system prompt, for providers that take it apart from the turns; empty where there is none."""
    return "\n\n".join(message.text for message in request.prompt.messages if message.role == "system")


def given_fields(request: Request, names: Iterable[str], **renamed: str) -> dict[str, Any]:
    """The fields of a request's body for the parameters that are given, in the order of the names.

    Names are fields of `Sampling`, 'seed', 'stream' (always false), and 'n' for the number of answers, which is sent
    only where it is more than one. Some are renamed to the provider's own.
    """
    sampling, samples = request.sampling, len(request.sample_indices)
    values = sampling.given() | {"stop": [*sampling.stop] or None, "seed": request.seed, "stream": False}
    values["n"] = samples if samples > 1 else None
    return {renamed.get(name, name): values[name] for name in names if values.get(name) is not None}


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
