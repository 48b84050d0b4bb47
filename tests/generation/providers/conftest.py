"""Requests and opened providers for the tests of all adapters."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from typing import Any

import pytest

from bigcodeflow.generation.model_api import Message, Prompt, Reply, Request, Sampling
from bigcodeflow.generation.providers import Endpoint, Provider, open_provider
from tests.generation.providers.double import DIALECTS, ModelServer

KEY = "canary-5ecre7-k3y"
SETTINGS = Sampling(temperature=0.5, top_p=0.9, max_tokens=2048, stop=("\nprint(",))

Use = Callable[[Provider], Coroutine[Any, Any, Any]]


@pytest.fixture(params=DIALECTS)
def name(request: pytest.FixtureRequest) -> str:
    """Each provider in turn."""
    return request.param


def chat(*, samples: int = 1, sampling: Sampling = SETTINGS, seed: int | None = None, **extra_body: Any) -> Request:
    """A request with a system prompt and a task."""
    prompt = Prompt("chat", (Message("system", "Be brief."), Message("user", "Write task_func.")))
    return Request("BigCodeBench/7", tuple(range(samples)), prompt, sampling, seed, extra_body)


def prefill(begun: str = "Below:\n```python\n") -> Request:
    """A request whose answer is begun."""
    prompt = Prompt("prefill", (Message("user", "Write task_func."), Message("assistant", begun)))
    return Request("BigCodeBench/7", (0,), prompt, SETTINGS)


def direct() -> Request:
    """A request for a base model."""
    return Request("BigCodeBench/7", (0,), Prompt("direct", text="def task_func():\n"), SETTINGS)


def endpoint(server: ModelServer, name: str, **settings: Any) -> Endpoint:
    """Where a dialect of the double is."""
    return Endpoint(**({"model": "m-1", "base_url": server.url(name), "api_key": KEY} | settings))


def used(name: str, place: Endpoint, use: Use) -> Any:
    """What a use of a freshly opened provider returns; it is closed after."""

    async def run() -> Any:
        async with aclosing(open_provider(name, place)) as provider:
            return await use(provider)

    return asyncio.run(run())


def asked(server: ModelServer, name: str, request: Request | None = None, **settings: Any) -> Reply:
    """The reply to one request."""
    return used(name, endpoint(server, name, **settings), lambda provider: provider.ask(request or chat()))
