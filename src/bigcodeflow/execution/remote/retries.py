"""The one loop that repeats work at a host or service, the errors that decide it, and outages that many items share.

HostLostError        the same may succeed later, or at another host: repeated
HostRefusedError     it will not, however often it is asked: never repeated
"""

import logging
import random
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from tenacity import RetryCallState, Retrying, before_sleep_log, retry_if_exception_type, wait_exponential_jitter

from bigcodeflow.core.errors import ExecutionError

logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 10.0
#: The longest Retry-After that is followed; the service may be free sooner than it says.
_LONGEST_AFTER_SECONDS = 120.0
#: Seconds after an outage that lasted too long in which nothing is tried: a thousand items must not each wait for it.
_DOWN_SECONDS = 15.0
#: An outage is over if no call has failed for this long.
_FORGOTTEN_SECONDS = 180.0


class HostLostError(ExecutionError):
    """A host or service cannot be reached, has no room, or was lost; another attempt may succeed."""

    def __init__(self, message: str, after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds
        """The service's Retry-After, if it sent one."""


class HostRefusedError(ExecutionError):
    """A host or service that will not do this work, however often it is asked."""


def error_of(state: RetryCallState) -> HostLostError:
    """Return the error of the attempt that has just failed."""
    return cast("HostLostError", state.outcome and state.outcome.exception())


def wait_seconds(state: RetryCallState) -> float:
    """Return the service's Retry-After, else a growing pause; a random part keeps threads from retrying together."""
    after_seconds = error_of(state).after_seconds
    if after_seconds is None:
        pause = wait_exponential_jitter(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, jitter=_FIRST_PAUSE_SECONDS)
        return pause(state)
    return min(after_seconds, _LONGEST_AFTER_SECONDS) + random.uniform(0.0, _FIRST_PAUSE_SECONDS)  # noqa: S311


def repeated(
    call: Callable[..., _Result],
    *arguments: Any,
    stop: Callable[[RetryCallState], bool],
    wait: Callable[[RetryCallState], float] = wait_seconds,
    after: type[Exception] = HostLostError,
    level: int = logging.INFO,
    **options: Any,
) -> _Result:
    """Return what a call returns; repeat it after errors of the kind ``after`` until ``stop``, then raise the last.

    The log names the call without its arguments, which may hold programs: give a function, not a ``partial``.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(after),
        stop=stop,
        wait=wait,
        before_sleep=before_sleep_log(logger, level),
        reraise=True,
        **options,
    )
    return retrying(call, *arguments)


class Patience:
    """Stops a loop after ``most_losses`` errors that ``is_loss`` counts, or if an attempt would begin too late."""

    def __init__(self, deadline: float, most_losses: int, is_loss: Callable[[HostLostError], bool]) -> None:
        self._deadline, self._most_losses, self._is_loss = deadline, most_losses, is_loss
        self._losses = 0
        self.is_late = False
        """True if it was the deadline that stopped the loop."""

    def __call__(self, state: RetryCallState) -> bool:
        """Count the error of the last attempt; return True if there is to be no other one."""
        self._losses += self._is_loss(error_of(state))
        if self._losses >= self._most_losses:
            return True
        self.is_late = time.monotonic() + state.upcoming_sleep > self._deadline
        return self.is_late


class Outage:
    """An outage of a service or of an engine that starts hosts, shared by all threads."""

    def __init__(self, away_seconds: float) -> None:
        """Begin without one; after ``away_seconds`` of failed calls it is given up for a while."""
        self._away_seconds = away_seconds
        self._since: float | None = None
        self._last = self._down_until = 0.0
        self.reason = ""

    @property
    def given_up(self) -> bool:
        """True for a short time after it has lasted too long, while another attempt is useless."""
        return time.monotonic() < self._down_until

    def failed(self, error: ExecutionError) -> None:
        """Record a failed call."""
        now = time.monotonic()
        if self._since is None or now - self._last > _FORGOTTEN_SECONDS:
            self._since = now
        self._last, self.reason = now, str(error)
        if now - self._since >= self._away_seconds:
            self._down_until = now + _DOWN_SECONDS

    def end(self) -> None:
        """Record a response, which ends the outage."""
        self._since, self._down_until = None, 0.0
