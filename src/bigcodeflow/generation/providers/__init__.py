"""Providers of models by name, each opened without importing the others."""

import difflib
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.providers.base import Endpoint, Provider

if TYPE_CHECKING:
    from bigcodeflow.generation.providers.batch_apis import BatchApi

__all__ = [
    "PROVIDERS",
    "Endpoint",
    "Provider",
    "ProviderInfo",
    "find_key",
    "open_batches",
    "open_provider",
    "provider_info",
]


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """What is known of a provider before it is opened."""

    factory: str = ""
    """Module beside this one, and class, of the provider; empty for offline engines."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that hold the key, the first one that is set counts."""
    needs_key: bool = True
    """Whether its own address needs a key; none is needed where another address is given."""
    no_key: str = "not-needed"
    """Taken for the key where nothing is sent."""
    several_answers: bool = False
    """Whether one request can ask for several answers."""
    batches: str = ""
    """Module and class of its batch API; empty where none is known."""
    offline: bool = False
    """Whether the model is loaded here, by an engine, instead of asked over a network."""


#: Providers by the name in front of the colon of generation.model.
PROVIDERS: Mapping[str, ProviderInfo] = MappingProxyType(
    {
        "openai": ProviderInfo(
            "chat_completions.OpenAIProvider",
            ("OPENAI_API_KEY",),
            several_answers=True,
            batches="batch_apis.OpenAIBatches",
        ),
        "anthropic": ProviderInfo(
            "anthropic.AnthropicProvider", ("ANTHROPIC_API_KEY",), batches="batch_apis.AnthropicBatches"
        ),
        "google": ProviderInfo("google.GoogleProvider", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), several_answers=True),
        "mistral": ProviderInfo("chat_completions.MistralProvider", ("MISTRAL_API_KEY",), several_answers=True),
        "ollama": ProviderInfo("ollama.OllamaProvider", ("OLLAMA_API_KEY",), needs_key=False),
        "huggingface": ProviderInfo(
            "chat_completions.HuggingFaceProvider", ("HF_TOKEN",), no_key="hf_not-needed", several_answers=True
        ),
        "vllm": ProviderInfo(needs_key=False, several_answers=True, offline=True),
        "transformers": ProviderInfo(needs_key=False, several_answers=True, offline=True),
    }
)


def provider_info(name: str) -> ProviderInfo:
    """What is known of the provider of a name.

    Raises:
        ConfigError: there is none of that name.
    """
    if name in PROVIDERS:
        return PROVIDERS[name]
    close = difflib.get_close_matches(name.lower(), PROVIDERS, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise ConfigError(f"generation.model: no provider {name!r}; {hint}known: {', '.join(PROVIDERS)}")


def find_key(name: str, *, variable: str = "", base_url: str = "") -> str:
    """The key from the environment, or an empty text where none is needed.

    Args:
        name: of the provider.
        variable: the environment variable to read; empty takes the provider's usual ones. Those are not read where an
            address is given, so that a key is never sent to a server that it was not made for.
        base_url: address of the server; empty for the provider's own.

    Raises:
        ConfigError: the key is missing or no key; the message names variables, never their content.
    """
    info = provider_info(name)
    variables = (variable,) if variable else () if base_url else info.key_variables
    for candidate in variables:
        key = os.environ.get(candidate, "").strip()
        if key:
            _check_key(key, candidate)
            return key
    if variable or (info.needs_key and not base_url):
        raise ConfigError(f"{name} needs a key: set the environment variable {' or '.join(variables)}")
    return ""


def open_provider(name: str, endpoint: Endpoint) -> Provider:
    """Connect to a provider; nothing is sent yet.

    Raises:
        ConfigError: there is none of that name, its SDK is not installed, or address or key cannot be.
    """
    info = provider_info(name)
    if info.offline:
        raise ConfigError(f"generation.model: {name} loads models here and is not asked over a network")
    if endpoint.base_url:
        _check_address(endpoint.base_url)
    if endpoint.api_key:
        _check_key(endpoint.api_key, f"the key of {name}")
    elif info.needs_key and not endpoint.base_url:
        raise ConfigError(f"{name} needs a key: set the environment variable {' or '.join(info.key_variables)}")
    try:
        provider: Provider = _class(info.factory)(endpoint)
    except ModuleNotFoundError as error:
        if name != "google" or (error.name or "").startswith("bigcodeflow"):
            raise
        raise ConfigError(
            f"generation.model: google needs the package {error.name}: pip install 'bigcodeflow[google]'"
        ) from None
    return provider


def open_batches(name: str, endpoint: Endpoint) -> "BatchApi":
    """Connect to the batch API of a provider that has one; nothing is sent yet."""
    api: BatchApi = _class(provider_info(name).batches)(endpoint)
    return api


def _class(factory: str) -> Any:
    module, _, name = factory.partition(".")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def _check_key(key: str, where: str) -> None:
    # Such a key fails in the transport, whose message would show it.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{where}: holds a blank, a line break or another character that no key has")


def _check_address(address: str) -> None:
    try:
        parts = urlsplit(address)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError(f"generation.base_url: {address!r} is no address, such as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise ConfigError("generation.base_url: holds a user or password; give the key in an environment variable")
