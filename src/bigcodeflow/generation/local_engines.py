"""Interface of engines, which run a model on this machine for one run; docs/generation.md shows one.

Each is a plug-in, a subclass of `OfflineEngine` or `ServerEngine` that an entry point of ``bigcodeflow.engines`` names.
The entry point's own name is the part of generation.model before the colon. A run imports the engine of its model only.
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
    """Runs models on this machine."""

    several_answers: bool = False
    """True if it takes requests for several samples."""

    def usual_form(self, config: GenerationConfig, split: Split) -> PromptForm:
        """Return the form of prompts that generation.prompt.form 'auto' means."""
        return "chat"

    def problems(self, config: GenerationConfig, request: Request) -> Iterable[str]:
        """Return the settings that the engine does not accept, one line each: setting, reason, remedy."""
        return ()


class OfflineEngine(Engine, ABC):
    """Engine that loads the model and answers all requests of a run."""

    @abstractmethod
    def body(self, request: Request) -> Mapping[str, Any]:
        """Return exactly what the model gets of a request; JSON-able, stored with each sample."""

    @abstractmethod
    def answers(
        self, config: GenerationConfig, requests: Iterable[Request]
    ) -> Generator[tuple[Request, Reply | RequestError, float], None, None]:
        """Yield the outcome of every request once, with its duration in seconds, as soon as it is known, in any order.

        A reply has an answer for each of the request's samples. Closing the generator ends the engine.
        """


class ServerEngine(Engine, ABC):
    """Engine that starts a server for the run; a provider asks it, within the limits of generation.requests."""

    provider: ClassVar[type[Provider]]
    """Provider that asks the server; before the server runs, it states what is not accepted, and makes bodies."""

    @abstractmethod
    def served(
        self, config: GenerationConfig, folder: Path, report: Callable[[str], None]
    ) -> AbstractContextManager[Callable[[], Provider]]:
        """Return a context manager that starts and ends the server, and gives a function that opens its provider.

        ``folder`` is for the server's log. ``report`` is called repeatedly while the model is loading.
        """


def engine_of(config: GenerationConfig) -> Engine | None:
    """Import the engine of generation.model; return None for a model that is asked over a network."""
    name, _, _ = config.model.partition(":")
    path = provider_info(name).engine
    return call_plugin(path, f"generation.model {name}", returns=Engine) if path else None
