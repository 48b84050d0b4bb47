"""Proxies of the environment are not asked for this machine's own addresses, and are asked for all others."""

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import httpx2
import pytest

from bigcodeflow.core.listening import reach_loopback_directly

#: Nothing listens there: a client that asks it gets no answer.
PROXIES = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "ALL_PROXY": "socks5://127.0.0.1:9",
}


class _Greeting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Stay quiet."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Greeting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def _by_urllib(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        return answer.read()


CLIENTS: list[Callable[[str], bytes]] = [
    lambda url: httpx.get(url).content,
    lambda url: httpx2.get(url).content,
    _by_urllib,
]
EACH_CLIENT = pytest.mark.parametrize("ask", CLIENTS, ids=["httpx", "httpx2", "urllib"])


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The process's environment with proxies, after the exception was made."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    variables = dict(PROXIES)
    reach_loopback_directly(variables)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@EACH_CLIENT
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.usefixtures("environment")
def test_an_own_address_is_asked_directly(host: str, ask: Callable[[str], bytes], port: int) -> None:
    assert ask(f"http://{host}:{port}") == b"hello"


@EACH_CLIENT
@pytest.mark.usefixtures("environment")
def test_every_other_address_is_asked_through_the_proxy(ask: Callable[[str], bytes]) -> None:
    with pytest.raises((httpx.ConnectError, httpx2.ConnectError, urllib.error.URLError)):
        ask("http://models.invalid")


@pytest.mark.parametrize(
    ("given", "hosts"),
    [
        ({}, None),
        ({"NO_PROXY": "a.example"}, None),
        ({"HTTP_PROXY": ""}, None),
        ({"HTTP_PROXY": "http://p"}, "127.0.0.1,localhost,::1"),
        ({"all_proxy": "http://p", "no_proxy": "a.example, ::1"}, "a.example,::1,127.0.0.1,localhost"),
        ({"all_proxy": "http://p", "no_proxy": "a", "NO_PROXY": "b"}, "a,b,127.0.0.1,localhost,::1"),
    ],
)
def test_exceptions_of_the_user_stay(given: dict[str, str], hosts: str | None) -> None:
    """Without a proxy nothing is changed."""
    changed = dict(given)
    reach_loopback_directly(changed)
    assert changed == (given if hosts is None else given | {"no_proxy": hosts, "NO_PROXY": hosts})
