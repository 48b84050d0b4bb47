"""Servers that are not there, or are no API: what people are told before the run gives up; real SDKs."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from bigcodeflow.core.errors import GenerationError
from tests.generation.conftest import ASKED, Ask
from tests.generation.providers.double import DIALECTS, Fail, Outcome, Send, model_server

PAGE = b"<!DOCTYPE html>\n<html><head><title>Jupyter\n Server</title></head><body>hello</body></html>"


Told = Callable[..., tuple[str, list[str]]]


@pytest.fixture
def told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> Told:
    """The error that a run ends with, and the lines that it tells before."""
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")  # else Microsoft's SDK would look for an identity first

    def call(dialect: str, base_url: str, **requests: Any) -> tuple[str, list[str]]:
        lines, limits = list[str](), {"first_contact_seconds": 1, **requests}
        with pytest.raises(GenerationError) as raised:
            ask(None, dialect, ASKED, tell=lines.append, base_url=base_url, requests=limits)
        return str(raised.value), lines

    return call


def line_of(lines: list[str]) -> str:
    """The one line about a provider that is not reached."""
    [line] = [line for line in lines if line.startswith("the provider ")]
    return line


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


@contextmanager
def plain_server() -> Iterator[int]:
    """Python's own server of HTTP, which knows no TLS and takes no POST."""
    silent = type("Silent", (BaseHTTPRequestHandler,), {"log_message": lambda *_: None})
    with ThreadingHTTPServer(("127.0.0.1", 0), silent) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def slow_but(*defaults: str, names: Sequence[str]) -> list[Any]:
    """Names as parameters; those that are no defaults are slow."""
    return [name if name in defaults else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", slow_but("openai", "google", names=DIALECTS))
def test_refused_connections_are_told_and_given_up_early(dialect: str, told: Told) -> None:
    """One line with cause and address before the run gives up, after the seconds of first contact."""
    with nobody() as address:
        error, lines = told(dialect, address)
    line = line_of(lines)
    assert "refuses connections: start the server there, or correct generation.base_url" in line
    assert address in line
    assert "it is tried again for 1 s" in line
    assert "was not reached once" in error
    assert address in error
    assert "0 of 12 samples are answered" in error
    assert not any("answers nothing" in note for note in lines)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Send(PAGE), "answers with a web page (Jupyter Server), not as an API: correct generation.base_url"),
        (Fail(502, body=PAGE), "502: "),
    ],
    ids=["200", "502"],
)
@pytest.mark.parametrize(
    "dialect", slow_but("openai", names=["openai", "anthropic", "mistral", "ollama", "huggingface", "azure"])
)
def test_a_web_page_is_told_and_given_up_early(dialect: str, outcome: Outcome, words: str, told: Told) -> None:
    """An address of another server: the line names it and the page's title."""
    with model_server([outcome]) as server:
        error, lines = told(dialect, server.url(dialect))
        address = f"http://127.0.0.1:{server.port}/"
    line = line_of(lines)
    assert words in line
    assert "web page (Jupyter Server)" in line
    assert address in line
    assert "was not reached once" in error


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_of_files_stops_the_run_at_its_first_answer(status: int, told: Told) -> None:
    """No other request can find an API there."""
    with model_server([Fail(status, body=PAGE)]) as server:
        error, _ = told("openai", server.url("openai"), concurrency=1)
        assert [request.method for request in server.requests if request.method == "POST"] == ["POST"]
    assert f"not found: {status}: http://127.0.0.1:" in error
    assert "web page (Jupyter Server)" in error


@pytest.mark.slow
def test_an_api_without_tls_is_told(told: Told) -> None:
    with plain_server() as port:
        error, lines = told("openai", f"https://127.0.0.1:{port}/v1")
    assert "gives no TLS connection" in line_of(lines)
    assert "gives no TLS connection" in error


@pytest.mark.slow
def test_a_host_that_is_not_known_is_told(told: Told) -> None:
    error, lines = told("openai", "http://models.invalid/v1")
    assert "has no address: correct the host in generation.base_url" in line_of(lines)
    assert "was not reached once" in error


def test_a_server_that_comes_up_in_time_is_asked(ask: Ask) -> None:
    """Who starts both at once loses nothing."""
    with model_server() as first:
        port = first.port
    with ExitStack() as late:
        starts = iter([lambda: late.enter_context(model_server(port=port))])

        def tell(line: str) -> None:
            if line.startswith("the provider "):
                next(starts, lambda: None)()

        address = f"http://127.0.0.1:{port}/openai/v1"
        table, _ = ask(None, tell=tell, base_url=address, requests={"first_contact_seconds": 60})
    assert table.num_rows == 4
