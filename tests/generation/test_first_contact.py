"""Servers that are not there, or are no API: what people are told, how soon, and when a run gives up; real SDKs."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from bigcodeflow.config import load_settings
from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.model_samples import model_samples
from tests.generation.providers.double import DIALECTS, Break, Completion, Fail, Outcome, Received, Send, model_server

pytestmark = pytest.mark.serial
TASKS = [{"task_id": f"T/{number}", "complete_prompt": f"def f(): # {number}\n"} for number in range(40)]
PAGE = b"<!DOCTYPE html>\n<html><head><title>Jupyter\n Server</title></head><body>hello</body></html>"
#: By which people know what is wrong.
TOLD_SECONDS = 5.0
GIVEN_UP_SECONDS = 15.0


class Told:
    """What a run says, and when."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.lines: list[tuple[float, str]] = []
        self.notes: set[str] = set()

    def ask(self, dialect: str, base_url: str, tasks: Any = TASKS, **requests: Any) -> str:
        """The error that a run ends with; 'answered' where it has none."""
        generation = {
            "model": f"{dialect}:m",
            "base_url": base_url,
            "requests": {"first_contact_seconds": 2, **requests},
        }
        config = load_settings({"samples": {"source": "model"}, "generation": generation}, "test").generation
        began = time.monotonic()
        try:
            model_samples(
                config,
                tasks,
                "complete",
                answers_folder=self._folder,
                report=lambda _done, _all, note: self.notes.add(note),
                notify=lambda line: self.lines.append((time.monotonic() - began, line)),
            )
        except GenerationError as error:
            self.seconds = time.monotonic() - began
            return str(error)
        return "answered"

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
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Silent", (BaseHTTPRequestHandler,), {"log_message": print_not})
    ) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def print_not(*_: object) -> None:
    """The server's log is of no interest."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_refused_connections_are_told_at_once_and_given_up_early(dialect: str, told: Told) -> None:
    """One line within seconds with cause and address, and no ten silent minutes."""
    with nobody() as address:
        error = told.ask(dialect, address)
    first_at, line = told.lines[-1]
    assert first_at < TOLD_SECONDS
    assert "refuses connections: start the server there, or mend generation.base_url" in line
    assert address in line
    assert "it is tried again for 2 s" in line
    assert sum("refuses connections" in one for _, one in told.lines) == 1
    assert told.seconds < GIVEN_UP_SECONDS
    assert "was not reached once" in error
    assert address in error
    assert "0 of 40 samples are answered" in error
    assert not any("answers nothing" in wait for wait in told.waits)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Send(PAGE), "answers with a web page (Jupyter Server), not as an API: mend generation.base_url"),
        (Fail(502, body=PAGE), "502: "),
    ],
    ids=["200", "502"],
)
@pytest.mark.parametrize("dialect", ["openai", "anthropic", "mistral", "ollama", "huggingface", "azure"])
def test_a_web_page_is_told_at_once_and_given_up_early(dialect: str, outcome: Outcome, words: str, told: Told) -> None:
    """An address of another server: the line names it and the page's title."""
    with model_server([outcome]) as server:
        error = told.ask(dialect, server.url(dialect))
        address = f"http://127.0.0.1:{server.port}/"
    first_at, line = told.lines[-1]
    assert first_at < TOLD_SECONDS
    assert words in line
    assert "web page (Jupyter Server)" in line
    assert address in line
    assert told.seconds < GIVEN_UP_SECONDS
    assert "was not reached once" in error


@pytest.mark.parametrize("status", [404, 405, 501])
def test_a_server_of_files_stops_the_run_at_its_first_answer(status: int, told: Told) -> None:
    """No other request can find an API there."""
    with model_server([Fail(status, body=PAGE)]) as server:
        error = told.ask("openai", server.url("openai"), concurrency=1)
        assert len(server.requests) == 1
    assert told.seconds < TOLD_SECONDS
    assert f"not found: {status}: http://127.0.0.1:" in error
    assert "web page (Jupyter Server)" in error


def test_a_real_server_of_files_stops_the_run(told: Told) -> None:
    with plain_server() as port:
        error = told.ask("openai", f"http://127.0.0.1:{port}/v1", concurrency=1)
    assert told.seconds < TOLD_SECONDS
    assert "not found: 501: " in error


def test_an_api_without_tls_is_told(told: Told) -> None:
    with plain_server() as port:
        error = told.ask("openai", f"https://127.0.0.1:{port}/v1")
    assert told.lines[-1][0] < TOLD_SECONDS
    assert "gives no TLS connection" in told.lines[-1][1]
    assert told.seconds < GIVEN_UP_SECONDS
    assert "gives no TLS connection" in error


def test_a_host_that_is_not_known_is_told(told: Told) -> None:
    error = told.ask("openai", "http://models.invalid/v1", tasks=TASKS[:2])
    assert "has no address: mend the host in generation.base_url" in told.lines[-1][1]
    assert told.seconds < 60.0
    assert "was not reached once" in error


def test_a_server_that_comes_up_in_time_is_asked(told: Told) -> None:
    """Who starts both at once loses nothing."""
    with model_server() as first:
        port = first.port
    late: list[Any] = []

    def start(_: str) -> None:
        late.append(model_server(port=port))
        late[0].__enter__()

    told.lines = _Calling(start)
    try:
        assert told.ask("openai", f"http://127.0.0.1:{port}/openai/v1", first_contact_seconds=60) == "answered"
    finally:
        late[0].__exit__(None, None, None)


class _Calling(list[Any]):
    """A list whose first line starts something."""

    def __init__(self, start: Callable[[str], None]) -> None:
        super().__init__()
        self._start = start

    def append(self, item: tuple[float, str]) -> None:
        if not self:
            self._start(item[1])
        super().append(item)


def test_a_provider_that_answers_errors_is_not_called_silent(told: Told) -> None:
    """503 in JSON is an API without room: it is waited for as ever, and named so."""

    def script(received: Received) -> Outcome:
        return Fail(503, "no room") if received.number < 14 else Completion()

    with model_server(script) as server:
        assert told.ask("openai", server.url("openai"), tasks=TASKS[:12], concurrency=12) == "answered"
    # Which of its two waits a report meets is a matter of moments.
    assert told.waits & {"the provider, which answers with errors only", "the provider, which asked for a pause"}
    assert any("overloaded: 503: no room" in line for _, line in told.lines)
    assert not any("answers nothing" in wait or "cannot be reached" in wait for wait in told.waits)


def test_a_provider_that_answers_nothing_is_called_so(told: Told) -> None:
    def script(received: Received) -> Outcome:
        return Break("hang") if received.number < 14 else Completion()

    with model_server(script) as server:
        answer = told.ask("openai", server.url("openai"), tasks=TASKS[:12], concurrency=12, timeout_seconds=0.3)
    assert answer == "answered"
    assert "the provider, which answers nothing" in told.waits
