"""An account of either dialect, and a driver that works with it."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.generation.batches import BatchOutcome
from bigcodeflow.generation.model_api import Request

from . import dialects  # noqa: F401 -- adds what the account speaks
from .double import Account, account_server
from .driving import drive, open_api

Run = Callable[..., BatchOutcome]


ALL_DIALECTS = ["openai", "anthropic", "google", "mistral"]


# Lost batches are looked for in two ways, OpenAI's and Anthropic's. Tests of each dialect's forms name all four.
@pytest.fixture(
    params=[name if name in ALL_DIALECTS[:2] else pytest.param(name, marks=pytest.mark.slow) for name in ALL_DIALECTS]
)
def account(request: pytest.FixtureRequest) -> Iterator[Account]:
    with account_server(Account(dialect=request.param)) as served:
        yield served


@pytest.fixture
def openai_account() -> Iterator[Account]:
    with account_server(Account(dialect="openai")) as served:
        yield served


@pytest.fixture
def anthropic_account() -> Iterator[Account]:
    with account_server(Account(dialect="anthropic")) as served:
        yield served


def with_api(account: Account, work: Callable[[Any], Coroutine[Any, Any, Any]], key: str = "") -> Any:
    """What a coroutine returns that is given the account's API."""

    async def life() -> Any:
        async with aclosing(open_api(account.dialect, account.base_url, key or account.key)) as api:
            return await work(api)

    return asyncio.run(life())


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run to its end, in the test's folder."""

    def call(account: Account, requests: Sequence[Request], *, key: str = "", **details: Any) -> BatchOutcome:
        return with_api(account, lambda api: drive(api, tmp_path, requests, **details), key)

    return call


def fails_once(method: str, pattern: str, fault: Exception, times: int = 1) -> Callable[[str, str], None]:
    """A hook that raises for the first requests that fit."""
    left = [times]

    def hook(seen: str, path: str) -> None:
        if seen == method and re.fullmatch(pattern, path) and left[0]:
            left[0] -= 1
            raise fault

    return hook
