"""Why a provider gave no answer, told from its status, its headers and its words."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from bigcodeflow.generation.model_api import ErrorKind, RequestError

#: Characters of a provider's words that are kept.
MESSAGE_LENGTH = 400
_OK = 200
_BAD_REQUEST = 400
_RATE_LIMITED = 429
_BROKEN = 500
_KINDS: Mapping[int, ErrorKind] = {
    401: "authentication",
    402: "quota",
    403: "authentication",
    404: "not_found",
    408: "deadline",
    409: "overloaded",
    425: "overloaded",
    429: "rate_limited",
}
# What providers write into code, type, status or reason; these say more than the number, which is 400 for most.
_CODES: Mapping[str, ErrorKind] = {
    "insufficient_quota": "quota",
    "billing_hard_limit_reached": "quota",
    "billing_error": "quota",
    "invalid_api_key": "authentication",
    "api_key_invalid": "authentication",
    "authentication_error": "authentication",
    "model_not_found": "not_found",
    "model_not_supported": "not_found",
    "invalid_model": "not_found",
    "content_policy_violation": "refused",
    "content_filter": "refused",
    "responsibleaipolicyviolation": "refused",
    "moderation_blocked": "refused",
    "invalid_prompt": "refused",
}
_PHRASES: tuple[tuple[re.Pattern[str], ErrorKind], ...] = (
    (re.compile(r"credit balance is too low", re.IGNORECASE), "quota"),
    (
        re.compile(r"content (management |filtering )?policy|usage policy|flagged|safety system", re.IGNORECASE),
        "refused",
    ),
)


def status_error(status: int, headers: Mapping[str, str], body: str, *, secret: str = "") -> RequestError:
    """The error that a provider's answer means.

    Args:
        status: of HTTP.
        headers: of the answer, to be asked by lower-case name.
        body: JSON in the form of any provider, or plain text.
        secret: a key that must not be shown, even where the server sends it back.
    """
    content = _decoded(body)
    message = shown(f"{status}: {_words(content) or body or 'no message'}", secret)
    return RequestError(_kind(status, content, body), message, retry_after_seconds=_wait(headers, content))


def shown(message: str, secret: str) -> str:
    """A message in one line of bounded length, without the secret."""
    if secret:
        message = message.replace(secret, "[key]")
    message = " ".join(message.split())
    return message if len(message) <= MESSAGE_LENGTH else message[: MESSAGE_LENGTH - 1] + "…"


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``Retry-After`` in seconds or as a date.

    None where neither is legible. RFC 9110, section 10.2.3.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d{0,9})?\s*", text, re.ASCII) else None


def _kind(status: int, content: Any, body: str) -> ErrorKind:
    if status < _BAD_REQUEST:
        return "malformed"
    if status < _BROKEN:
        for code in _codes(content):
            if code in _CODES:
                return _CODES[code]
        if status == _RATE_LIMITED:
            return "quota" if _daily_quota(content) else "rate_limited"
        for phrase, kind in _PHRASES:
            if phrase.search(body):
                return kind
        return _KINDS.get(status, "bad_request")
    return "overloaded"


def _decoded(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _parts(content: Any) -> Iterator[Mapping[str, Any]]:
    """The error's own fields, then what details it carries."""
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    if not isinstance(content, dict):
        return
    error = content.get("error")
    error = error if isinstance(error, dict) else content
    yield error
    for key in ("details", "innererror"):
        details = error.get(key)
        for detail in details if isinstance(details, list) else [details]:
            if isinstance(detail, dict):
                yield detail


def _codes(content: Any) -> Iterator[str]:
    for part in _parts(content):
        for key in ("code", "type", "status", "reason"):
            if isinstance(part.get(key), str):
                yield part[key].lower()


def _words(content: Any) -> str:
    for part in _parts(content):
        for key in ("message", "error", "detail"):
            if part.get(key):
                return part[key] if isinstance(part[key], str) else json.dumps(part[key])
    return ""


def _daily_quota(content: Any) -> bool:
    # Google answers 429 with the same words to what a minute and what a day allows.
    violations = (part.get("violations") for part in _parts(content))
    return any("PerDay" in str(violation) for violation in violations)


def _wait(headers: Mapping[str, str], content: Any) -> float | None:
    seconds = retry_after_seconds(headers)
    if seconds is not None:
        return seconds
    # Google states the wait in the body only, such as "retryDelay": "13s".
    delays = (part.get("retryDelay") for part in _parts(content))
    return next((_number(delay.removesuffix("s")) for delay in delays if isinstance(delay, str)), None)


def ensure_ok(data: Any, *, secret: str = "") -> None:
    """Reject an answer that hides an error behind status 200, as gateways send.

    Raises:
        RequestError: the answer is an error.
    """
    error = data.get("error") if isinstance(data, dict) else None
    if error:
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and code > _OK else _BROKEN
        raise status_error(status, {}, json.dumps(data), secret=secret)
