"""Servers that are not there, or are no API: what people are told before the run gives up; real SDKs."""

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bigcodeflow.config import load_settings
from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.model_samples import model_samples
from tests.generation.providers.double import DIALECTS, Completion, Fail, Outcome, Received, Send, model_server

TASKS = [{"task_id": f"T/{number}", "complete_prompt": f"def f(): # {number}\n"} for number in range(40)]
PAGE = b"<!DOCTYPE html>\n<html><head><title>Jupyter\n Server</title></head><body>hello</body></html>"


class Told:
    """What a run says before it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.lines: list[str] = []
        self.notes: set[str] = set()

    def ask(self, dialect: str, base_url: str, tasks: Any = TASKS, **requests: Any) -> str:
        """The error that a run ends with; 'answered' where it has none."""
        generation = {
            "model": f"{dialect}:m",
            "base_url": base_url,
            "requests": {"first_contact_seconds": 1, **requests},
        }
        config = load_settings({"samples": {"source": "model"}, "generation": generation}, "test").generation
        try:
            model_samples(
                config,
                tasks,
                "complete",
                answers_folder=self._folder,
                report=lambda _done, _all, note: self.notes.add(note),
                notify=self.tell,
            )
        except GenerationError as error:
            return str(error)
        return "answered"

    def tell(self, line: str) -> None:
        self.lines.append(line)

    @property
    def waits(self) -> set[str]:
        found = (re.search(r"waits for (.*)", note) for note in self.notes)
        return {match[1] for match in found if match}


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")  # else Microsoft's SDK would look for an identity first
    return Told(tmp_path)


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
        error = told.ask(dialect, address)
    line = told.lines[-1]
    assert "refuses connections: start the server there, or correct generation.base_url" in line
    assert address in line
    assert "it is tried again for 1 s" in line
    assert sum("refuses connections" in one for one in told.lines) == 1
    assert "was not reached once" in error
    assert address in error
    assert "0 of 40 samples are answered" in error
    assert not any("answers nothing" in wait for wait in told.waits)


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
        error = told.ask(dialect, server.url(dialect))
        address = f"http://127.0.0.1:{server.port}/"
    line = told.lines[-1]
    assert words in line
    assert "web page (Jupyter Server)" in line
    assert address in line
    assert "was not reached once" in error


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_of_files_stops_the_run_at_its_first_answer(status: int, told: Told) -> None:
    """No other request can find an API there."""
    with model_server([Fail(status, body=PAGE)]) as server:
        error = told.ask("openai", server.url("openai"), concurrency=1)
        assert len(server.requests) == 1
    assert f"not found: {status}: http://127.0.0.1:" in error
    assert "web page (Jupyter Server)" in error


def test_a_real_server_of_files_stops_the_run(told: Told) -> None:
    with plain_server() as port:
        error = told.ask("openai", f"http://127.0.0.1:{port}/v1", concurrency=1)
    assert "not found: 501: " in error


@pytest.mark.slow
def test_an_api_without_tls_is_told(told: Told) -> None:
    with plain_server() as port:
        error = told.ask("openai", f"https://127.0.0.1:{port}/v1")
    assert "gives no TLS connection" in told.lines[-1]
    assert "gives no TLS connection" in error


@pytest.mark.slow
def test_a_host_that_is_not_known_is_told(told: Told) -> None:
    error = told.ask("openai", "http://models.invalid/v1", tasks=TASKS[:2])
    assert "has no address: correct the host in generation.base_url" in told.lines[-1]
    assert "was not reached once" in error


def test_a_server_that_comes_up_in_time_is_asked(told: Told) -> None:
    """Who starts both at once loses nothing."""
    with model_server() as first:
        port = first.port
    with ExitStack() as late:
        starts = iter([lambda: late.enter_context(model_server(port=port))])
        told.tell = lambda _: next(starts, lambda: None)()
        assert told.ask("openai", f"http://127.0.0.1:{port}/openai/v1", first_contact_seconds=60) == "answered"


@pytest.mark.slow
def test_errors_in_json_are_an_api(told: Told) -> None:
    """503 is an API without room: it is waited for as ever, and named so."""

    def script(received: Received) -> Outcome:
        return Fail(503, "no room") if received.number < 14 else Completion()

    with model_server(script) as server:
        assert told.ask("openai", server.url("openai"), tasks=TASKS[:12], concurrency=12) == "answered"
    assert any("overloaded: 503: no room" in line for line in told.lines)
    assert not any("answers nothing" in wait or "cannot be reached" in wait for wait in told.waits)
