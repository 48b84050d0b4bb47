"""Client of the service's HTTP API, and the errors that the service's responses mean for the caller."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic import ValidationError

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import (
    ConfigError,
    EnvironmentUnusableError,
    ExecutionError,
    SandboxUnavailableError,
    error_message,
)
from bigcodeflow.core.listening import is_loopback
from bigcodeflow.judge.host.base import Outcome
from bigcodeflow.judge.items import code_version
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.backend import HostLostError, HostRefusedError

_CONNECT_SECONDS = 10.0
#: Longest silence of a service, which sends a sign of life every 5 s once it has begun to answer.
_SILENCE_SECONDS = 60.0
#: Time limit of a plan; long, because the first plan in an environment measures imports.
_PREPARE_SECONDS = 1800.0
_MAX_RESPONSE_BYTES = 256 << 20
#: Name of the only item of each batch.
_ITEM = "item"

#: Commands that start a service, for messages.
_COMMANDS = {"http": "bigcodeflow serve", "gradio": "python -m bigcodeflow.serving.space"}


class ServiceBusyError(HostLostError):
    """The service has no room for the request at present."""


class ServiceUnreachableError(HostLostError):
    """The service does not respond: it is down, it hangs, or it is being restarted."""


class NotJudgedError(ServiceUnreachableError):
    """The service, or a gateway to it, could not judge the program (504)."""


class BrokenResponseError(HostLostError):
    """The response is incomplete or invalid."""


class NotAServiceError(HostRefusedError):
    """The program at the address is not a service of bigcodeflow."""


class KeyRejectedError(HostRefusedError):
    """The service's key is wrong or missing in the request."""


class DeadlinePassedError(HostRefusedError):
    """The caller's deadline has passed."""


_RAISE_TIMEOUT = "raise execution.service.timeout_seconds, or give the service more cores"
#: Error → what the user can do about it; messages of other errors say it themselves.
_REMEDIES: dict[type[ExecutionError], str] = {
    ServiceBusyError: _RAISE_TIMEOUT,
    DeadlinePassedError: _RAISE_TIMEOUT,
    ServiceUnreachableError: "start the service with `{command}`, or correct execution.service.url",
    BrokenResponseError: "read the service's log, and start the same run again",
    NotAServiceError: "execution.service.url must be the address of `{command}`",
    KeyRejectedError: "set {key_variable} to the service's key",
}


class ServiceClient:
    """Client of the service in ``execution.service``; several threads may use it at the same time."""

    def __init__(self, config: ExecutionConfig, address: str = "") -> None:
        """Send nothing yet; ``address`` is the known address of a space named as OWNER/NAME, or empty."""
        self._config = config
        url, headers = config.service.url, {"Accept-Encoding": "identity"}
        if config.backend == "gradio" and "://" not in url:
            url, token = _space_of_hub(url, address)  # the token is sent to spaces of the hub only
            headers |= {"X-HF-Authorization": f"Bearer {token}"} if token else {}
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise ConfigError(
                f"execution.service.url {url!r} must be a URL such as http://127.0.0.1:8017 without user and key: "
                f"correct the URL, and put a key into the environment variable {config.service.key_variable}"
            )
        key = os.environ.get(config.service.key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(
                f"the key in {config.service.key_variable} has characters that no HTTP header can hold: copy it again"
            )
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        connections = config.service.concurrency + 1
        self.url = url.rstrip("/")
        self._lock = threading.Lock()
        self._open_calls, self._closing = 0, False
        self._client = httpx2.Client(
            base_url=self.url,
            headers=headers,
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            trust_env=not is_loopback(parts.hostname),  # a proxy would be asked for a service on this machine
        )

    def info(self) -> protocol.Info:
        """Return the service's description of itself; an error names the remedy."""
        try:
            response = self.answer("GET", "/v1/info", None, _SILENCE_SECONDS)
            version = response.get("code_version")
            if isinstance(version, str) and version != code_version():
                raise EnvironmentUnusableError(
                    f"the service at {self.url} has bigcodeflow {version}, and this machine {code_version()}: "
                    "install the same version at both ends, and start the service again"
                )
            return protocol.Info.model_validate(response)
        except KeyRejectedError as error:
            raise ConfigError(self.explained(error)) from None
        except (HostLostError, HostRefusedError) as error:
            raise SandboxUnavailableError(self.explained(error)) from None
        except ValidationError:
            other_program = NotAServiceError("the program at this address is not a service of bigcodeflow")
            raise SandboxUnavailableError(self.explained(other_program)) from None

    def explained(self, error: ExecutionError) -> str:
        """Return the error's text with the service's address and the remedy."""
        service = self._config.service
        remedy = next((text for kind, text in _REMEDIES.items() if isinstance(error, kind)), "").format(
            command=_COMMANDS[self._config.backend], key_variable=service.key_variable
        )
        return ": ".join(filter(None, (f"the service at {service.url}", str(error), remedy)))

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the service's answer to a ``protocol.PrepareRequest``."""
        return self.answer("POST", "/v1/prepare", protocol.line(request), _PREPARE_SECONDS)

    def execute(self, batch: dict[str, Any], item: dict[str, Any], deadline: float) -> Outcome:
        """Return the outcome of one item before ``deadline``, a time of ``time.monotonic``."""
        content = protocol.line(batch | {"items": [item | {"id": _ITEM}], "detail": "outcome"})
        patience_seconds = min(_SILENCE_SECONDS, max(0.1, deadline - time.monotonic()))
        outcome: Outcome | None = None
        try:
            with self._response("POST", "/v1/batches", content, patience_seconds) as response:
                for line in filter(None, protocol.whole_lines(self._chunks(response, deadline))):  # empty: keep-alive
                    outcome = _outcome_of(line)
        except BrokenResponseError:
            if outcome is None:
                raise
        if outcome is None:
            raise BrokenResponseError("the response ended without the item's result")
        return outcome

    def close(self) -> None:
        """Start no more calls; running calls end with the service's next line, and the last call closes the client."""
        with self._lock:
            self._closing = True
            self._close_when_idle()

    def _close_when_idle(self) -> None:
        if self._closing and not self._open_calls:
            self._client.close()  # not earlier: a thread that reads from a closed socket would wait forever

    def answer(self, method: str, path: str, content: bytes | None, seconds: float) -> dict[str, Any]:
        """Return the JSON object that the service answers; raise an error if the service is silent for ``seconds``."""
        with self._response(method, path, content, seconds) as response:
            return _object_of(b"".join(self._chunks(response)))

    @contextmanager
    def _response(self, method: str, path: str, content: bytes | None, seconds: float) -> Iterator[httpx2.Response]:
        """Yield a response with status 200; the service may be silent for up to ``seconds``."""
        timeout = httpx2.Timeout(seconds, connect=_CONNECT_SECONDS, pool=None)
        headers = {"Content-Type": "application/json"} if content else {}
        with self._lock:
            if self._closing:
                raise HostRefusedError("the run is ending, so it sends no further requests")
            self._open_calls += 1
        try:
            with self._client.stream(method, path, content=content, headers=headers, timeout=timeout) as response:
                if response.status_code != HTTPStatus.OK:
                    raise self._status_error(response)
                yield response
        except (httpx2.ConnectError, httpx2.TimeoutException) as error:
            raise ServiceUnreachableError(f"no answer to the request ({error_message(error)})") from None
        except httpx2.HTTPError as error:
            raise BrokenResponseError(f"the connection was lost during the response ({error_message(error)})") from None
        finally:
            with self._lock:
                self._open_calls -= 1
                self._close_when_idle()

    def _chunks(self, response: httpx2.Response, deadline: float = float("inf")) -> Iterator[bytes]:
        """Yield the body as it arrives; raise an error after the deadline or at the end of the run."""
        size_bytes = 0
        for chunk in response.iter_raw():
            size_bytes += len(chunk)
            if size_bytes > _MAX_RESPONSE_BYTES:
                raise BrokenResponseError(f"the service's response is larger than {_MAX_RESPONSE_BYTES >> 20} MiB")
            yield chunk
            if time.monotonic() > deadline:
                raise DeadlinePassedError("the item was not judged within execution.service.timeout_seconds")
            if self._closing:
                raise HostRefusedError("the run is ending, so it sends no further requests")

    def _status_error(self, response: httpx2.Response) -> ExecutionError:
        """Return the error that corresponds to a response with a status other than 200."""
        status = response.status_code
        try:
            details = _object_of(b"".join(self._chunks(response))).get("detail")
        except (HostLostError, HostRefusedError, httpx2.HTTPError):
            details = None  # the answer is not from a service
        details = [str(line) for line in details] if isinstance(details, list) else []
        after_seconds = _retry_after(response.headers.get("retry-after", ""))
        reason = f"the answer is {status} {response.reason_phrase}".strip()
        reason = ": ".join(filter(None, (reason, "; ".join(details))))[:500]
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return ServiceBusyError(reason, after_seconds)
        if status == HTTPStatus.GATEWAY_TIMEOUT:
            return NotJudgedError(reason, after_seconds)
        if status in {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE}:
            return ServiceUnreachableError(reason, after_seconds)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
            return BrokenResponseError(reason, after_seconds)
        if status == HTTPStatus.UNAUTHORIZED:
            return KeyRejectedError(reason)
        return HostRefusedError(reason) if details and status != HTTPStatus.NOT_FOUND else NotAServiceError(reason)


def _space_of_hub(name: str, address: str) -> tuple[str, str]:
    """Return the address of a space named as OWNER/NAME, looked up if unknown, and the token for private spaces."""
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        address = address or str(HfApi().space_info(name).host or "")
    except (HfHubHTTPError, HFValidationError, httpx2.HTTPError, OSError) as error:
        reason = error_message(error)
        raise SandboxUnavailableError(f"space {name} has no known address ({reason}): check its name") from None
    if not address:
        raise SandboxUnavailableError(f"space {name} has no address: start it on the hub")
    return address, get_token() or ""


def _retry_after(header: str) -> float | None:
    """Return the seconds of a Retry-After header, which holds seconds or a date; None if it holds neither."""
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):  # no date, or a date without a time zone or in no calendar
        return None


def _outcome_of(line: bytes) -> Outcome:
    value = _object_of(line)
    if value.get("id") != _ITEM:
        raise BrokenResponseError("the response is for another item than the item sent")
    try:
        return protocol.parse_outcome(value.get("outcome"))
    except protocol.ProtocolError as error:
        raise BrokenResponseError(str(error)) from None


def _object_of(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise BrokenResponseError(f"the answer begins with {text[:80]!r}, which is not JSON") from None
    if not isinstance(value, dict):
        raise BrokenResponseError("the response is not a JSON object, as a service of bigcodeflow would send")
    return value
