"""Proxies of the environment are not asked for this machine's own addresses, and are asked for all others."""

import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.server import HTTPServer, SimpleHTTPRequestHandler

import httpx
import httpx2
import pytest

from bigcodeflow.core.listening import reach_loopback_directly


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


@pytest.mark.parametrize("ask", [httpx.get, httpx2.get, urllib.request.urlopen], ids=["httpx", "httpx2", "urllib"])
def test_every_client_follows_the_exceptions(ask: Callable[[str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """An own address is asked directly, another one through the proxy, where nothing listens."""
    variables = {
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }
    reach_loopback_directly(variables)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for host in ("127.0.0.1", "localhost"):
            assert ask(f"http://{host}:{server.server_port}/")
        server.shutdown()
    with pytest.raises((httpx.ConnectError, httpx2.ConnectError, urllib.error.URLError)):
        ask("http://models.invalid")
