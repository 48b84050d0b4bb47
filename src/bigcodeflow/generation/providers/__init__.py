"""Providers of models by name, each opened without importing the others."""

import difflib
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urlsplit

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.generation.providers.base import Endpoint, Provider

__all__ = ["PROVIDERS", "Endpoint", "Provider", "ProviderInfo", "find_key", "open_provider", "provider_info"]


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """What is known of a provider before it is opened."""

    module: str
    """Beside this one; empty for offline engines."""
    extra: str = ""
    """Extra of the package that installs its SDK; empty where nothing is to be installed."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that hold the key, the first one that is set counts."""
    needs_key: bool = True
    """Whether its own address needs a key; none is needed where another address is given."""
    several_answers: bool = False
    """Whether one request can ask for several answers."""
    batches: bool = False
    """Whether it has a batch API at a lower price."""
    offline: bool = False
    """Whether the model is loaded here, by an engine, instead of asked over a network."""


#: Providers by the name in front of the colon of generation.model.
PROVIDERS: Mapping[str, ProviderInfo] = MappingProxyType(
    {
        "openai": ProviderInfo("openai", "openai", ("OPENAI_API_KEY",), several_answers=True, batches=True),
        "anthropic": ProviderInfo("anthropic", "anthropic", ("ANTHROPIC_API_KEY",), batches=True),
        "google": ProviderInfo("google", "google", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), several_answers=True),
        "mistral": ProviderInfo("mistral", "mistral", ("MISTRAL_API_KEY",), several_answers=True),
        "ollama": ProviderInfo("ollama", "ollama", ("OLLAMA_API_KEY",), needs_key=False),
        "huggingface": ProviderInfo("huggingface", "", ("HF_TOKEN",), several_answers=True),
        "vllm": ProviderInfo("", needs_key=False, several_answers=True, offline=True),
        "transformers": ProviderInfo("", needs_key=False, several_answers=True, offline=True),
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
        module = importlib.import_module(f"{__name__}.{info.module}")
    except ModuleNotFoundError as error:
        if not info.extra or (error.name or "").startswith("bigcodeflow"):
            raise
        raise ConfigError(
            f"generation.model: {name} needs the package {error.name}: pip install 'bigcodeflow[{info.extra}]'"
        ) from None
    provider: Provider = module.open_provider(endpoint)
    return provider


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
