"""Who is let in to the space, and with how much."""

import asyncio
import base64
from collections.abc import Callable

import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow_space.space import Gate, SpaceSettings, require_key_or_loopback

Ask = Callable[..., int]


async def _app(scope: dict, receive: object, send: Callable) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def ask() -> Ask:
    """The status of one request through the gate."""

    def call(*, key: str = "right", method: str = "GET", kind: str = "http", path: str = "/", **headers: str) -> int:
        said: list[dict] = []

        async def send(message: dict) -> None:
            said.append(message)

        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": kind, "method": method, "path": path, "headers": named}
        asyncio.run(Gate(_app, key=key, most_bytes=100)(scope, None, send))
        return said[0].get("status", said[0].get("code"))

    return call


def _basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{password}".encode()).decode()


@pytest.mark.parametrize("authorization", ["Bearer right", "bearer right", _basic("right")])
def test_the_key_opens(ask: Ask, authorization: str) -> None:
    """As machines send it, and as browsers do."""
    assert ask(authorization=authorization) == 200


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer wrong", "Bearer rightly", "Basic %%%", _basic("wrong"), _basic(""), "right"],
)
def test_nothing_else_opens(ask: Ask, authorization: str | None) -> None:
    """Every request without the key is refused, whatever it asks for; a header that is missing is no empty key."""
    header = {} if authorization is None else {"authorization": authorization}
    assert ask(**header) == 401
    assert ask(**header, method="POST", content_length="1") == 401


@pytest.mark.parametrize("host", ["127.0.0.1:7860", "localhost", "[::1]:7860"])
def test_without_a_key_this_machine_is_served(ask: Ask, host: str) -> None:
    """By the names that nobody else has."""
    assert ask(key="", host=host) == 200
    assert ask(key="", host=host, method="POST", content_length="1") == 200


@pytest.mark.parametrize("host", ["", "attacker.example:7860", "127.0.0.1.attacker.example", "[::1", "192.168.1.7"])
def test_without_a_key_another_name_is_refused(ask: Ask, host: str) -> None:
    """A page of another site, which had its own name resolve to loopback, reads and sends nothing; a key names itself."""
    assert ask(key="", host=host) == 403
    assert ask(key="", host=host, method="POST", content_length="1") == 403
    assert ask(host=host, authorization="Bearer right") == 200


def test_a_body_is_bounded_before_it_is_read(ask: Ask) -> None:
    """By the length that it states, which it has to."""
    right = {"authorization": "Bearer right", "method": "POST"}
    assert ask(**right, content_length="100") == 200
    assert ask(**right, content_length="101") == 413
    assert ask(**right) == 411
    assert ask(**right, content_length="-1") == 411


def test_the_api_has_guards_of_its_own(ask: Ask) -> None:
    """They answer its clients in JSON; nothing but the API's own addresses is passed to them."""
    assert ask(path="/v1/batches", method="POST") == 200
    for path in ("/v1", "/v10/info", "/health", "/openapi.json", "//v1/info", "/V1/info"):
        assert ask(path=path) == 401


def test_there_is_no_other_door(ask: Ask) -> None:
    """Websockets are closed, with the key and without."""
    assert ask(kind="websocket", authorization="Bearer right") == 1008


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::"])
def test_no_key_no_network(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A space without a key listens on loopback only."""
    monkeypatch.delenv("BIGCODEFLOW_SERVICE_KEY", raising=False)
    with pytest.raises(ConfigError, match="put a key into the environment variable BIGCODEFLOW_SERVICE_KEY"):
        require_key_or_loopback(SpaceSettings(host=host))
