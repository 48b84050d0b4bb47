"""Requests that a service does not answer: who asks, what it holds, and how large it is."""

import http.client
import json
import os
import socket
from typing import Any

import pytest

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.listening import listening
from bigcodeflow.judge.service import routes, service
from bigcodeflow.judge.service.app import usable_key
from tests.serving.conftest import Serve
from tests.serving.services import KEY, RIGHT, TEST, Served, client_of, item, sleeper, until

pytestmark = pytest.mark.sandbox


def refused(served: Served, status: int, path: str = "/v1/batches", content: Any = None, **body: object) -> list[str]:
    """The lines of a refusal."""
    headers = {"Content-Type": "application/json"}
    content = json.dumps(body) if content is None else content
    answer = served.client.post(path, content=content, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()["detail"]


@pytest.mark.parametrize("path", ["/v1/info", "/v1/batches", "/v1/prepare", "/openapi.json"])
@pytest.mark.parametrize(
    "key", ["", "another", "the-key-of-these-test", "\u00e4"], ids=["none", "other", "part", "latin"]
)
def test_without_the_key_nothing_is_answered(shared_service: Served, path: str, key: str) -> None:
    """A missing, wrong or half key gets 401, whatever was asked."""
    headers = {b"Authorization": f"Bearer {key}".encode("latin-1")} if key else {}
    with client_of(shared_service.url, "") as stranger:
        answer = stranger.request("GET" if path in {"/v1/info", "/openapi.json"} else "POST", path, headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "Authorization: Bearer KEY" in answer.json()["detail"][0]


def test_a_stranger_sends_no_body(shared_service: Served) -> None:
    """The key is looked at first: what comes without it is not read, so that it costs nothing."""
    connection = half_sent(shared_service, 1, Authorization="")
    assert connection.getresponse().status == 401
    connection.close()


def test_health_is_for_everybody(shared_service: Served) -> None:
    """What starts services has no key."""
    with client_of(shared_service.url, "") as stranger:
        assert stranger.get("/health").json() == {"status": "ok"}


def test_a_service_without_a_key_serves_this_machine_only(serve_here: Serve) -> None:
    """A page in a browser here, that has its own name resolve to loopback, gets nothing."""
    with serve_here(key="") as served:
        assert served.client.get("/openapi.json").status_code == 200
        assert served.client.get("/openapi.json", headers={"Host": "attacker.example"}).status_code == 403
        for own in ("localhost", "localhost:8017", "127.0.0.1:80", "[::1]:8017", "[::1]"):
            assert served.client.get("/v1/info", headers={"Host": own}).status_code == 200
        for foreign in ("attacker.example", "attacker.example:8017", "127.0.0.1.attacker.example", "[::1", ""):
            assert served.client.get("/v1/info", headers={"Host": foreign}).status_code == 403
        form = served.client.post("/v1/batches", content=b"{}", headers={"Content-Type": "text/plain"})
        assert form.status_code == 415


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "service.example"])
def test_others_are_served_with_a_key_only(host: str) -> None:
    """A service that others reach is not started without one."""
    with pytest.raises(ConfigError, match="set THE_KEY to a key that clients have to know"):
        usable_key("", host, "THE_KEY")
    assert usable_key("secret", host, "THE_KEY") == "secret"


@pytest.mark.parametrize("key", ["two words", "sch\u00f6n", "line\n"])
def test_a_key_that_no_header_carries_is_refused(key: str) -> None:
    """At the start, and the message does not show it."""
    with pytest.raises(ConfigError, match="the key in THE_KEY has blanks") as raised:
        usable_key(key, "127.0.0.1", "THE_KEY")
    assert key not in str(raised.value)


def test_a_port_that_is_taken_is_named() -> None:
    """In one line, with what to do."""
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with (
            pytest.raises(ConfigError, match=f"127.0.0.1 port {port} .*in use.*choose another --host or --port"),
            listening("127.0.0.1", port),
        ):
            pass


@pytest.mark.parametrize("path", ["/v1/batches", "/v1/prepare", "/health"])
def test_a_length_that_is_stated_twice_is_refused(shared_service: Served, path: str) -> None:
    """Who reads the other one takes the rest of the body for a request: nothing of it is answered."""
    hidden = f"GET /v1/info HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
    lengths = ["Content-Length: 4\r\n", "Transfer-Encoding: chunked\r\n"]
    for both in ("".join(lengths), "".join(lengths[::-1]).lower()):
        answer = sent(shared_service, f"{head}Content-Type: application/json\r\n{both}\r\n0\r\n\r\n{hidden}")
        assert answer.startswith("HTTP/1.1 400 ")
        assert "send one of them" in answer
        assert answer.count("HTTP/1.1 ") == 1


def sent(served: Served, text: str) -> str:
    """All that comes back on a connection until the service ends it."""
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2])), timeout=120) as connection:
        connection.sendall(text.encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def test_each_thing_that_is_wrong_has_a_line(shared_service: Served) -> None:
    """Where it is, and what is wrong with it, twenty at most."""
    items = [{"id": 1, "program": "x"}, item("b") | {"more": 1}, item("c", time_seconds="5")]
    assert refused(shared_service, 422, items=items, start="hot") == [
        "items.0.id: input should be a valid string",
        "items.0.test: field required",
        "items.1.more: extra inputs are not permitted",
        "items.2.time_seconds: input should be a valid number",
        "start: input should be 'warm' or 'cold'",
    ]
    lines = refused(shared_service, 422, items=[{}] * 40)
    assert len(lines) == 21
    assert lines[-1] == "and 100 more errors"


def test_what_cannot_be_judged_has_a_line(shared_service: Served) -> None:
    """Tests that are none, times and limits beyond the service's, names that occur twice."""
    items = [item("a", test="x = 1"), item("b", test="def"), item("b", time_seconds=4000)]
    assert refused(shared_service, 422, items=items) == [
        "items.0.test: has no class TestCases with a test method: write one, or set expected_tests",
        "items.1.test: is not valid Python (invalid syntax, line 1)",
        "items.2.time_seconds: 4000 is more than the service's limit, 3600 s: lower it",
        "items: the id 'b' occurs more than once: give each item another id",
    ]
    assert refused(shared_service, 422, items=[item("a")], limits={"memory_mib": 8192}) == [
        "limits.memory_mib: 8192 is more than the service's 4096: ask for less, or start the service with --memory-mib 8192"
    ]


_NO_REQUESTS = {"empty": b"", "half": b"{", "list": b"[1]", "null": b"null", "no UTF-8": b"\xff"}
_NO_REQUESTS |= {"NaN": b'{"items": NaN}', "infinite": b'{"items": 1e999}', "surrogate": b'{"\\ud800": 1}'}
_NO_REQUESTS |= {"deep": b"[" * 100_000, "long number": b"1" * 10_000}


@pytest.mark.parametrize("body", _NO_REQUESTS.values(), ids=_NO_REQUESTS)
def test_what_is_no_request_is_refused(shared_service: Served, body: bytes) -> None:
    """Whatever it is: 422 and a line, never an error of the service."""
    for path in ("/v1/batches", "/v1/prepare"):
        assert refused(shared_service, 422, path, body)


def test_a_plan_needs_the_tests_that_it_names(shared_service: Served) -> None:
    """A number that no test has is refused."""
    lines = refused(shared_service, 422, "/v1/prepare", tests=[TEST], programs=[{"program": RIGHT, "test": 1}])
    assert lines == ["programs.0.test is 1, but it must be a position in `tests`, at least 0 and below 1"]


def test_a_batch_of_too_many_items_is_refused(shared_service: Served) -> None:
    """With the number that may be."""
    lines = refused(shared_service, 413, items=[item(str(number)) for number in range(51)])
    assert lines == ["items: the batch has 51 items, and the limit is 50: send several batches"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(shared_service: Served, *, chunked: bool) -> None:
    """Whether its size was stated before or not."""
    body = json.dumps({"items": [item("a", "#" * (1 << 20))]}).encode()
    content = iter([body[: 1 << 19], body[1 << 19 :]]) if chunked else body
    assert refused(shared_service, 413, content=content) == [
        "the body is larger than 1 MiB: send several smaller requests"
    ]


@pytest.mark.parametrize("detail", ["verdict", "outcome"])
def test_a_test_that_is_too_large_is_refused(shared_service: Served, detail: str) -> None:
    """With its place, its size and the limit: to read it would take the service seconds, or minutes, and gigabytes."""
    large = "a\n" * 100_001
    lines = refused(shared_service, 413, items=[item("a"), item("b", test=large)], detail=detail)
    assert lines == ["items.1.test: has 200,002 characters; the limit is 200,000 characters: shorten the test"]
    plan = refused(shared_service, 413, "/v1/prepare", tests=[large], programs=[{"program": RIGHT, "test": 0}])
    assert plan == [lines[0].replace("items.1.test", "tests.0")]


def test_a_program_that_is_too_large_to_be_read_is_judged(shared_service: Served) -> None:
    """A model that does not end its answer costs its batch nothing; the sandbox decides."""
    items = [item("a", "#" * 400_000 + f"\n{RIGHT}"), item("b", "a\n" * 150_000)]
    answer = shared_service.client.post("/v1/batches", json={"items": items})
    found = {line["id"]: line["verdict"]["status"] for line in map(json.loads, filter(str.strip, answer.iter_lines()))}
    assert found == {"a": "pass", "b": "fail"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/batches", b'{"items": [{"id": "a", "program": "", "test": "", "expected_tests": [%s0]}]}'),
        ("/v1/batches", b'{"items": [{"id": "a"}], "limits": [%s0]}'),
        ("/v1/prepare", b'{"tests": [], "programs": [%s0]}'),
    ],
)
def test_a_request_of_too_many_values_is_refused(shared_service: Served, path: str, body: bytes) -> None:
    """Each of them may be wrong, and to say so takes a kilobyte: a body of one MiB would take ten seconds and a GB."""
    lines = refused(shared_service, 413, path, body % (b"0," * 300_000))
    assert lines == ["the body holds more than 300,000 values: send several smaller requests"]


def half_sent(served: Served, size_bytes: int, **more: str) -> http.client.HTTPConnection:
    """A request of 1 MiB, so much of which has been sent."""
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=120)
    connection.putrequest("POST", "/v1/batches")
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", "Content-Length": str(1 << 20)}
    for name, value in (headers | more).items():
        connection.putheader(name, value)
    connection.endheaders(b" " * size_bytes)
    return connection


def test_bodies_of_all_clients_together_are_bounded(shared_service: Served) -> None:
    """Requests that are still being sent fill what may be held; the next one is told to come later."""
    budget = shared_service.service.budget
    slow = [half_sent(shared_service, (1 << 20) - 1) for _ in range(8)]
    assert until(lambda: budget._left == 8)
    late = half_sent(shared_service, 100)
    answer = late.getresponse()
    assert (answer.status, answer.headers["Retry-After"]) == (429, "2")
    for connection in [*slow, late]:
        connection.close()
    assert until(lambda: budget._left == 8 << 20)
    assert shared_service.client.post("/v1/batches", json={"items": [item("a")]}).status_code == 200


def test_a_body_that_does_not_arrive_is_given_up(shared_service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that begins and says no more holds nothing for long."""
    monkeypatch.setattr(routes, "_BODY_SECONDS", 0.2)
    connection = half_sent(shared_service, 1)
    assert connection.getresponse().status == 408
    connection.close()


@pytest.mark.slow
def test_limits_of_many_kinds_wait_for_each_other(serve_here: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind keeps a warm sandbox: a client that invents new limits for every request is told to wait."""
    monkeypatch.setattr(service, "_MAX_MODES", 1)
    with serve_here() as served:
        slow = {"items": [sleeper("a", 0.3)], "limits": {"memory_mib": 1000}}
        with served.client.stream("POST", "/v1/batches", json=slow):
            lines = refused(served, 429, items=[item("b")], limits={"memory_mib": 1001})
            assert lines == ["batches with 1 different limits or starts, the maximum, are open: send this batch later"]
            same = served.client.post("/v1/batches", json={"items": [item("b")], "limits": {"memory_mib": 1000}})
            assert same.status_code == 200
        assert until(lambda: not served.service.jobs.open_items)
        other = served.client.post("/v1/batches", json={"items": [item("b")], "limits": {"memory_mib": 1001}})
        assert other.status_code == 200


def test_nothing_of_the_key_is_in_any_answer(shared_service: Served) -> None:
    """Neither in the description nor in any answer."""
    key = shared_service.client.headers["Authorization"].removeprefix("Bearer ")
    assert os.environ.get("BIGCODEFLOW_SERVICE_KEY") != key
    for path in ("/openapi.json", "/v1/info", "/health", "/absent"):
        assert key not in shared_service.client.get(path).text
