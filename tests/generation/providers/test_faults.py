"""Every fault of a provider, through every SDK, becomes the error that tells what to do about it."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.generation.model_api import ErrorKind, RequestError
from bigcodeflow.generation.providers.http_client import MESSAGE_LENGTH, retry_after_seconds, status_error
from tests.generation.in_process import cancel
from tests.generation.providers.conftest import KEY, asked, chat, endpoint, used
from tests.generation.providers.double import Break, Completion, Fail, Outcome, Send, model_server

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


def failed(name: str, *outcomes: Outcome, **settings: Any) -> RequestError:
    with model_server(outcomes) as server, pytest.raises(RequestError) as caught:
        asked(server, name, **settings)
    assert len(server.requests) == 1, "asked again on its own"
    return caught.value


FAULTS: list[tuple[Outcome, ErrorKind]] = [
    (Fail(429, headers={"retry-after": "7"}), "rate_limited"),
    (Fail(429, code="insufficient_quota"), "quota"),
    (Fail(500), "overloaded"),
    (Fail(503), "overloaded"),
    (Fail(529), "overloaded"),
    (Fail(502, body=b"<html>bad gateway</html>"), "overloaded"),
    (Fail(400), "bad_request"),
    (Fail(422), "bad_request"),
    (Fail(401, code="invalid_api_key"), "authentication"),
    (Fail(403), "authentication"),
    (Fail(402), "quota"),
    (Fail(404), "not_found"),
    (Fail(400, message="the prompt was flagged by our content policy"), "refused"),
    (Break("before"), "connection"),
    (Break("head"), "connection"),
    (Break("body"), "connection"),
    (Break("garbage"), "malformed"),
    (Break("empty"), "malformed"),
    (Send([]), "malformed"),
    (Send({"choices": [1], "content": [1], "candidates": [1], "message": 1, "done": True}), "malformed"),
    (Send({"choices": 5, "content": 5, "candidates": 5, "message": 5}), "malformed"),
]


def test_each_fault_has_its_kind(name: str):
    """Each request is sent once, its fault tells whether another try may help, and one that recovers is used again."""

    async def use(provider: Any) -> None:
        for number, (fault, expected) in enumerate(FAULTS):
            with pytest.raises(RequestError) as caught:
                await provider.ask(chat())
            assert len(server.requests) == number + 1, f"{fault} was asked again"
            has_no_codes = name == "ollama" and isinstance(fault, Fail) and fault.status == 429
            assert caught.value.kind == ("rate_limited" if has_no_codes else expected), (fault, str(caught.value))
            wait = 7 if isinstance(fault, Fail) and fault.headers else None
            assert caught.value.retry_after_seconds == wait, fault
        assert (await provider.ask(chat())).answers[0].text == "at last"

    with model_server([*(fault for fault, _ in FAULTS), Completion("at last")]) as server:
        used(name, endpoint(server, name), use)


def test_a_message_tells_status_and_words(name: str):
    """What the provider says is kept, in one line of bounded length."""
    message = str(failed(name, Fail(400, message="no\nsuch parameter: " + "x" * 5000)))
    assert message.startswith("400: no such parameter: xxx")
    assert len(message) == MESSAGE_LENGTH


@pytest.mark.slow
def test_the_deadline_holds_for_the_whole_answer(name: str):
    """A server that never answers, or that sends a byte now and then for a minute, costs the deadline and no more."""

    async def use(provider: Any) -> list[Any]:
        return await asyncio.gather(*(provider.ask(chat()) for _ in range(2)), return_exceptions=True)

    with model_server([Break("hang"), Break("trickle")]) as server:
        errors = used(name, endpoint(server, name, timeout_seconds=0.5), use)
    assert [error.kind for error in errors] == ["deadline", "deadline"]


def test_a_cancelled_request_does_not_wait_for_its_answer(name: str):
    async def use(provider: Any) -> None:
        task = asyncio.create_task(provider.ask(chat()))
        while not server.requests:  # noqa: ASYNC110 -- the server has another loop
            await asyncio.sleep(0.01)
        await cancel(task)

    with model_server([Break("hang")]) as server:
        used(name, endpoint(server, name), use)


@pytest.mark.parametrize(
    ("body", "status", "kind", "seconds"),
    [
        (
            {"error": {"details": [{"retryDelay": "13s"}, {"violations": [{"quotaId": "PerMinute"}]}]}},
            429,
            "rate_limited",
            13,
        ),
        ({"error": {"details": [{"violations": [{"quotaId": "RequestsPerDayPerProject"}]}]}}, 429, "quota", None),
        ([{"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}}], 400, "authentication", None),
        ({"error": {"message": "Your credit balance is too low", "type": "invalid_request_error"}}, 400, "quota", None),
        ({"message": "Invalid model: x", "type": "invalid_model", "code": "1500"}, 400, "not_found", None),
        ({"error": {"code": "content_filter", "innererror": {"code": "x"}}}, 400, "refused", None),
        ({"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}, 400, "refused", None),
        ({"detail": [{"msg": "field required"}]}, 422, "bad_request", None),
        ({"error": {"code": "insufficient_quota"}}, 503, "overloaded", None),
    ],
)
def test_words_say_more_than_numbers(body: Any, status: int, kind: ErrorKind, seconds: float | None):
    """Codes and details in the providers' own forms decide where the status does not."""
    error = status_error(status, {}, json.dumps(body))
    assert (error.kind, error.retry_after_seconds) == (kind, seconds)


def test_a_gateway_that_hides_an_error_behind_200_is_found_out():
    """An error with status 200 and no choices counts as the status in its body."""
    hidden = Send({"error": {"code": 429, "message": "slow down"}})
    assert failed("openai", hidden).kind == "rate_limited"
    named = Send({"error": {"code": "insufficient_quota", "message": "pay first"}})
    assert failed("openai", named).kind == "quota"


@pytest.mark.parametrize("name", ["openai", "anthropic", "google"])
def test_a_redirection_is_not_followed_with_the_key(name: str):
    """The headers that hold it would go to whatever host it names; the message says which address to set."""
    with model_server() as other:
        moved = Fail(307, headers={"location": other.url("openai")})
        error = failed(name, moved)
        assert not other.requests
        assert other.url("openai") in str(error)
    assert error.kind == "not_found"
    assert "set generation.base_url" in str(error)


@pytest.mark.parametrize("finish", ["error", "abort"])
def test_an_answer_that_the_provider_broke_off_is_no_answer(finish: str):
    """A half answer would count as a failure of the model's."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": "def task_"}}
    assert failed("openai", Send({"choices": [choice]})).worth_another_try


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None):
    assert retry_after_seconds(headers) == seconds


@given(wait=st.integers(min_value=2, max_value=86_400))
def test_a_date_is_a_wait(wait: int):
    before = datetime.now(UTC)
    seconds = retry_after_seconds({"retry-after": format_datetime(before + timedelta(seconds=wait), usegmt=True)})
    passed = (datetime.now(UTC) - before).total_seconds()
    assert wait - 1 - passed <= seconds <= wait


@given(status=st.integers(min_value=300, max_value=599), wait=st.text(), body=JSON | st.text())
def test_no_answer_breaks_the_reading(status: int, wait: str, body: Any):
    headers, text = {"retry-after": wait}, body if isinstance(body, str) else json.dumps(body)
    error = status_error(status, headers, text, secret=KEY)
    assert "\n" not in str(error)
    assert str(status) in str(error)
    assert error.retry_after_seconds is None or error.retry_after_seconds >= 0
