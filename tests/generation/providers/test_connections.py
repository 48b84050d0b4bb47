"""Pools, closing, proxies and secrets, through every SDK."""

import asyncio
import gc
import logging
import traceback
from typing import Any

import pytest

from bigcodeflow.generation.model_api import RequestError
from bigcodeflow.generation.providers import Endpoint, known_providers
from tests.generation.providers.conftest import KEY, asked, chat, endpoint, used
from tests.generation.providers.double import DIALECTS, Break, Completion, Fail, Outcome, model_server, wait_for

#: Each SDK or client; the others share one of these.
DIALECTS_BY_CLIENT = [
    name if name in {"openai", "google"} else pytest.param(name, marks=pytest.mark.slow) for name in DIALECTS
]


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS_BY_CLIENT, indirect=True)
def test_as_many_requests_as_connections_are_under_way(name: str):
    """No pool of an SDK's holds requests back, and the connections are used again for the next ones."""

    connections = 120  # above what the SDKs' own pools hold

    async def use(provider: Any) -> list[Any]:
        rounds = []
        for _ in range(2):
            rounds += await asyncio.gather(*(provider.ask(chat()) for _ in range(connections)))
        return rounds

    with model_server(lambda _: Completion(together=connections)) as server:
        replies = used(name, endpoint(server, name, connections=connections), use)
        assert len({reply.answers[0].text for reply in replies}) == 2 * connections
        assert server.most_in_flight == connections
        assert server.connections == connections


def test_closing_gives_every_connection_back():
    """After closing nothing is open at the server, and nothing is left for the garbage collector to warn about."""
    with model_server() as server:
        for name in DIALECTS:
            asked(server, name)
        assert wait_for(lambda: server.open_connections == 0)
    gc.collect()


def test_a_proxy_of_the_environment_does_not_see_loopback(name: str, monkeypatch: pytest.MonkeyPatch):
    for variable in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    with model_server() as server:
        assert asked(server, name).answers


def test_other_addresses_go_through_the_proxy_of_the_environment(name: str, monkeypatch: pytest.MonkeyPatch):
    """Who needs a proxy for the network gets it: here the proxy is the server."""
    with model_server() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(RequestError):
            used(name, Endpoint("m", "http://models.invalid/v1", KEY), lambda provider: provider.ask(chat()))
        assert server.last.path.startswith("http:")


def test_a_key_of_the_environment_does_not_reach_an_own_server(name: str, monkeypatch: pytest.MonkeyPatch):
    """SDKs look for keys themselves; none of those may go to a server that it was not made for."""
    if known_providers()[name].own_address:
        pytest.skip("its keys are for addresses that everybody names")
    variables = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY")
    for variable in (*variables, "OLLAMA_API_KEY", "HF_TOKEN", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(variable, KEY)
    with model_server() as server:
        asked(server, name, api_key="")
        assert KEY not in str(server.last.headers)


def test_the_key_is_sent_as_the_provider_wants_it(name: str):
    with model_server(key=KEY) as server:
        assert asked(server, name).answers
        with pytest.raises(RequestError) as caught:
            asked(server, name, api_key="another-key")
    assert caught.value.concerns_every_request


ECHO = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key", "type": KEY}}
_ANSWERS: list[Outcome] = [
    Completion(),
    Fail(401, body=ECHO),
    Fail(500, body=f"<html>{KEY}</html>".encode()),
    Fail(429, body=ECHO | {"message": KEY}),
    Fail(400, body={"detail": [{"msg": KEY}]}),
    Break("body"),
]


def test_a_key_is_never_shown(name: str, caplog: pytest.LogCaptureFixture, capfd: Any):
    """Not in errors, their tracebacks, representations, bodies or logs of the SDKs, even where the server echoes it."""
    caplog.set_level(logging.DEBUG)
    shown = []

    async def use(provider: Any) -> None:
        shown.extend([repr(place), repr(provider), repr(vars(provider)), str(provider.body(chat()))])
        for _ in _ANSWERS:
            try:
                shown.append(repr(await provider.ask(chat())))
            except RequestError as error:
                details = str(vars(error)) if hasattr(error, "__dict__") else ""
                shown.extend([repr(error), details, *traceback.format_exception(error)])

    with model_server(_ANSWERS) as server:
        place = endpoint(server, name)
        used(name, place, use)
        assert KEY in str(server.last.headers)
    printed = capfd.readouterr()
    for text in (*shown, caplog.text, printed.out, printed.err, *(str(vars(record)) for record in caplog.records)):
        assert "canary" not in text
