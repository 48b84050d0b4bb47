"""What E2B's answers mean for a run: try again later, or never; each in one line with its remedy."""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import httpx
from connectrpc.errors import ConnectError
from e2b import AuthenticationException, RateLimitException, SandboxException, ServiceBusyException

from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.execution.remote.transports import HostRefusedError, LinkLostError

logger = logging.getLogger(__name__)

#: What the SDK raises for what E2B and the way there do; ValueError and KeyError for answers that are not E2B's.
FAULTS = (
    SandboxException,
    AuthenticationException,
    ServiceBusyException,
    ConnectError,
    httpx.HTTPError,
    OSError,
    ValueError,
    KeyError,
)
_PATIENCE_SECONDS = (0.5, 1.0, 2.0, 4.0)
_LONGEST_MESSAGE = 200
_FORBIDDEN, _ABSENT, _BAD_REQUEST = 403, 404, 400

Result = TypeVar("Result")


class TemplateAbsentError(HostRefusedError):
    """There is no such template, or not for this key."""


def words(error: Exception) -> str:
    """An error of the SDK in one line of bounded length."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_MESSAGE]


def told(error: Exception, *, template: str = "") -> ExecutionError:
    """What an error of the SDK means: LinkLostError may be mended by another try, HostRefusedError is not."""
    text = words(error)
    status = getattr(error, "status_code", None)
    if isinstance(error, AuthenticationException):
        return HostRefusedError(
            "E2B does not accept the key: set E2B_API_KEY to one of your team's, from https://e2b.dev/dashboard"
        )
    if status in (_FORBIDDEN, _ABSENT) and template:
        return TemplateAbsentError(
            f"E2B has no template {template} that this key may use: run `bigcodeflow env build NAME --backend e2b`, or "
            "set execution.e2b.template to one that has a sandbox environment"
        )
    if status in (_BAD_REQUEST, _FORBIDDEN):
        return HostRefusedError(f"E2B refuses: {text}")
    if isinstance(error, RateLimitException):
        return LinkLostError(
            f"E2B's limit is reached ({text}): set execution.e2b.sandboxes to what the plan allows, or run again later"
        )
    return LinkLostError(f"E2B cannot be used for now ({text}): run again later")


@contextmanager
def translated(*, template: str = "") -> Iterator[None]:
    """Turns what the SDK raises into our own errors.

    Raises:
        LinkLostError: another try may succeed.
        HostRefusedError: no other will.
    """
    try:
        yield
    except FAULTS as error:
        raise told(error, template=template) from error


def unhurried(call: Callable[[], Result]) -> Result:
    """What a call to a sandbox gives, which is made again while E2B limits the rate.

    The SDK repeats calls to the control plane itself, and those to a sandbox never. An answer 429 says that nothing was
    done; after any other failure nobody knows, and a second call might do the same twice.
    """
    for seconds in _PATIENCE_SECONDS:
        try:
            return call()
        except RateLimitException:
            time.sleep(seconds * random.uniform(0.5, 1.0))  # noqa: S311 -- only spreads the tries
    return call()
