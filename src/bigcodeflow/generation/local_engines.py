"""Interface of engines, which run a model on this machine for one run; docs/generation.md has an example.

Engines are plug-ins: subclasses of `OfflineEngine` or `ServerEngine`, named by entry points of ``bigcodeflow.engines``.
The entry point's own name is the part of generation.model before the colon. A run imports only the engine of its model.
"""

# ruff: noqa: ARG002 (every engine has the same signatures)

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

from bigcodeflow.config import GenerationConfig, Split
from bigcodeflow.core.plugins import call_plugin
from bigcodeflow.generation.model_api import PromptForm, Reply, Request, RequestError
from bigcodeflow.generation.providers import Provider, provider_info


class Engine:
    """Base class of engines, which run models on this machine."""

    several_answers: bool = False
    """True if the engine accepts requests for several samples."""

    def usual_form(self, config: GenerationConfig, split: Split) -> PromptForm:
        """Return the form of prompts that generation.prompt.form 'auto' means for this engine."""
        return "chat"

    def problems(self, config: GenerationConfig, request: Request) -> Iterable[str]:
        """Return the settings that the engine does not accept, one line each: setting, reason, remedy."""
        return ()


class OfflineEngine(Engine, ABC):
    """Engine that loads the model and answers all requests of a run."""

    @abstractmethod
    def body(self, request: Request) -> Mapping[str, Any]:
        """Return the parts of a request that reach the model, as JSON values; stored with each sample."""

    @abstractmethod
    def answers(
        self, config: GenerationConfig, requests: Iterable[Request]
    ) -> Generator[tuple[Request, Reply | RequestError, float], None, None]:
        """Yield each request once, with its reply or error and its duration in seconds, as soon as it has ended.

        A reply has an answer for each of the request's samples. Closing the generator ends the engine.
        """


class ServerEngine(Engine, ABC):
    """Engine that starts a server for the run; a provider sends requests, within limits of generation.requests."""

    provider: ClassVar[type[Provider]]
    """Provider that asks the server; its methods `problems`, `notes` and `body` work before the server runs."""

    @abstractmethod
    def served(
        self, config: GenerationConfig, folder: Path, report: Callable[[str], None]
    ) -> AbstractContextManager[Callable[[], Provider]]:
        """Return a context manager that runs the server, and yields a function that opens a provider for the server.

        ``folder`` is for the server's log. ``report`` is called repeatedly while the model is loading.
        """


def engine_of(config: GenerationConfig) -> Engine | None:
    """Import and return the engine that generation.model names; return None if it names an API."""
    name, _, _ = config.model.partition(":")
    path = provider_info(name).engine
    return call_plugin(path, f"generation.model {name}", returns=Engine) if path else None
