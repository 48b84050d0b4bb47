"""Providers of models by name, and shared helpers that map settings to requests.

A provider is a class in another module of this package, which is imported when the provider is opened. Plug-ins add
providers (entry points of the group ``bigcodeflow.providers``, each a `ProviderInfo`) and engines (`local_engines`).
"""

# ruff: noqa: ARG002 (every provider has the same signatures)

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.plugins import is_own, load_plugin, loaded_plugins, plugin_entries
from bigcodeflow.generation.model_api import PromptForm, Reply, Request, RequestError


@dataclass(frozen=True, slots=True)
class Endpoint:
    model: str
    base_url: str = ""
    """Address of the server; if empty, the provider's default address is used."""
    api_key: str = field(default="", repr=False)
    """API key; empty if none is needed. Never logged, stored or shown."""
    timeout_seconds: float = 600.0
    """Deadline of a request, including the connection."""
    connections: int = 64
    """Maximum number of requests at the same time."""
    limit_parameter: str = "auto"
    """Name under which providers of OpenAI's protocol send max_tokens; 'auto' detects it."""


class Provider:
    """An open connection to one model; used by one event loop."""

    label: str = ""
    """Name of the provider in messages."""
    forms: Sequence[PromptForm] = ("chat", "prefill", "direct")
    """Forms of prompts that the provider accepts."""
    not_taken: Mapping[str, str] = MappingProxyType({})
    """Parameters that the provider never accepts, with the reason."""
    most_stops: float = inf
    """Maximum number of stop texts."""

    def problems(self, request: Request) -> list[str]:
        """Return the settings that this provider or model does not accept, one line each: parameter, reason, remedy.

        Called before anything is sent. A setting that is accepted with a changed meaning is listed in `notes` instead.
        """
        lines, form, stops = untaken(request, self.not_taken), request.prompt.form, len(request.sampling.stop)
        if form not in self.forms:
            remedy = f"set it to {' or '.join(self.forms)}"
            lines.append(f"generation.prompt.form: {self.label} does not take {form!r}; {remedy}")
        if stops > self.most_stops:
            lines.append(
                f"generation.sampling.stop: {self.label} takes up to {self.most_stops} texts, not {stops}; remove some"
            )
        return lines

    def notes(self, request: Request) -> list[str]:
        """Return the differences between the settings and what is sent, one line each, to be shown and stored."""
        return []

    def body(self, request: Request) -> Mapping[str, Any]:
        """Return the JSON body that is sent for a request, without address and key; stored with each sample."""
        raise NotImplementedError

    async def ask(self, request: Request) -> Reply:
        """Send a request once, without retries by an SDK; return the whole reply, or raise RequestError."""
        raise NotImplementedError

    def adapt(self, body: Mapping[str, Any], error: RequestError) -> str:
        """Change the fields of later requests if ``error`` shows that the provider rejects a field of ``body``.

        Return a message with the change, after which the failed request is sent again; an empty text for no change.
        """
        return ""

    async def offered_models(self) -> str:
        """Return a sentence with the names of the models that the provider offers; empty if the names are unknown."""
        return ""

    async def aclose(self) -> None:
        """Close the connections."""


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    factory: str
    """'module:class' of the provider, or 'module.class' in this package."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first variable that is set is used."""
    needs_key: bool = True
    """True if the provider's default address needs a key; another address needs none."""
    several_answers: bool = False
    engine: str = ""
    """'module:class' of the `Engine` that loads the model on this machine; empty for APIs."""
    own_address: str = ""
    """Example, such as https://NAME.openai.azure.com, if every user has a different address, which must be set."""
    extra: str = ""
    """Extra of this package that installs the provider's SDK; empty if it needs none."""


_PROVIDERS: Mapping[str, ProviderInfo] = MappingProxyType(
    {
        "openai": ProviderInfo("chat_completions.OpenAIProvider", ("OPENAI_API_KEY",), several_answers=True),
        "mistral": ProviderInfo("chat_completions.MistralProvider", ("MISTRAL_API_KEY",), several_answers=True),
        "ollama": ProviderInfo("chat_completions.OllamaProvider", ("OLLAMA_API_KEY",), needs_key=False),
        "huggingface": ProviderInfo("chat_completions.HuggingFaceProvider", ("HF_TOKEN",), several_answers=True),
    }
)


@cache
def known_providers() -> Mapping[str, ProviderInfo]:
    """Return all providers by name (generation.model before the colon); built-in names replace those of plug-ins."""
    paths = {name: entry.value for name, entry in plugin_entries("bigcodeflow.engines").items()}
    engines = {name: ProviderInfo(f"{path}.provider", needs_key=False, engine=path) for name, path in paths.items()}
    own_engines = {name: engines[name] for name, path in paths.items() if is_own(path)}
    providers = loaded_plugins("bigcodeflow.providers", ProviderInfo)
    return MappingProxyType({**_PROVIDERS, **engines, **providers, **own_engines, **_PROVIDERS})


def provider_info(name: str) -> ProviderInfo:
    if name in (known := known_providers()):
        return known[name]
    close = difflib.get_close_matches(name.lower(), known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise ConfigError(f"generation.model: no provider {name!r}; {hint}known: {', '.join(known)}; write PROVIDER:MODEL")


def find_key(name: str, *, variable: str = "", base_url: str = "") -> str:
    """Return the key from the environment, or an empty text if none is needed; raise ConfigError if it is missing.

    Read only ``variable`` or, if it is empty, the provider's usual variables. The usual variables are not read if
    ``base_url`` replaces a default address, so that a key is never sent to a server that it was not made for. Messages
    contain the names of variables, never their values.
    """
    variables = key_variables(name, variable=variable, base_url=base_url)
    for candidate in variables:
        key = os.environ.get(candidate, "").strip()
        if key:
            check_key(key, candidate)
            return key
    if variable or (provider_info(name).needs_key and not base_url):
        raise ConfigError(
            f"{name} needs a key: set the environment variable {' or '.join(variables)}; for runs that the UI starts, "
            f"make a Prefect Secret block named {' or '.join(map(secret_block, variables))}, or name a file that sets "
            "the variable: bigcodeflow up --env-file FILE"
        )
    return ""


def key_variables(name: str, *, variable: str = "", base_url: str = "") -> tuple[str, ...]:
    """Return the environment variables that may hold the key, in the order in which they are read."""
    info = provider_info(name)
    if variable:
        return (variable,)
    return () if base_url and not info.own_address else info.key_variables


def secret_block(variable: str) -> str:
    """Return the name of the Prefect Secret block for a variable: block names have dashes and lower-case letters."""
    return variable.lower().replace("_", "-")


def open_provider(name: str, endpoint: Endpoint) -> Provider:
    """Open the provider ``name`` for ``endpoint``, with a key from `find_key`; send nothing yet."""
    info = provider_info(name)
    if endpoint.base_url:
        _check_address(endpoint.base_url)
    elif info.own_address:
        raise ConfigError(f"generation.base_url: {name} needs the address of your server, such as {info.own_address}")
    try:
        factory = info.factory if ":" in info.factory else f"{__name__}.{info.factory.replace('.', ':')}"
        provider: Provider = load_plugin(factory, f"generation.model {name}")(endpoint)
    except ModuleNotFoundError as error:
        if not info.extra or (error.name or "").startswith("bigcodeflow"):
            raise
        raise ConfigError(
            f"generation.model: {name} needs the package {error.name}: pip install 'bigcodeflow[{info.extra}]'"
        ) from None
    return provider


def check_key(key: str, where: str) -> None:
    """Refuse a key with invalid characters: it would fail in the HTTP client, whose message would show the key."""
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"{where}: holds a blank or another character that no key contains: copy the key again")


def _check_address(address: str) -> None:
    import httpx2

    try:
        parts = urlsplit(address)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        httpx2.URL(address)  # raises an error if the client cannot parse it
    except (ValueError, httpx2.InvalidURL):
        valid = False
    if not valid:
        raise ConfigError(f"generation.base_url: {address!r} is not a URL. Example: http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        raise ConfigError("generation.base_url: holds a user or password: remove it, and set the key's variable")


def untaken(request: Request, reasons: Mapping[str, str]) -> list[str]:
    """Return a message for each parameter that the request sets, but that ``reasons`` (name: reason) forbids."""
    given = request.sampling.given() | ({} if request.seed is None else {"seed": request.seed})
    remedies = {"stop": "empty it"}
    return [
        f"generation.sampling.{name}: {reason}; {remedies.get(name, 'set it to null')}"
        for name, reason in reasons.items()
        if name in given
    ]


def turns(request: Request) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": message.text} for message in request.prompt.messages]


def system_prompt(request: Request) -> str:
    """Return the system prompt for providers that take it separately from the turns; empty if there is none."""
    return "\n\n".join(message.text for message in request.prompt.messages if message.role == "system")


def given_fields(request: Request, names: Iterable[str], **renamed: str) -> dict[str, Any]:
    """Return the body fields for the parameters that are set, in the order of ``names``.

    Names are fields of `Sampling`, 'seed', 'stream' (always false), and 'n' for the number of answers, which is sent
    only if it is greater than 1. ``renamed`` maps names to the provider's own names.
    """
    sampling, samples = request.sampling, len(request.sample_indices)
    values = sampling.given() | {"stop": [*sampling.stop] or None, "seed": request.seed, "stream": False}
    values["n"] = samples if samples > 1 else None
    return {renamed.get(name, name): values[name] for name in names if values.get(name) is not None}


def merged(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``body`` updated with the fields of ``extra``; nested objects are merged field by field."""
    result = dict(body)
    for key, value in extra.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[key] = merged(before, value)
        else:
            result[key] = value
    return result
