"""Base of remote backends, a backend with a fallback, and the loop that repeats calls of a host or service.

HostLostError        another attempt may succeed, later or at another host: the loop repeats the call
HostRefusedError     no attempt will succeed: the loop does not repeat the call
"""

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import tenacity
from tenacity import RetryCallState

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError, ExecutionError, SandboxUnavailableError
from bigcodeflow.judge.environments import Environment
from bigcodeflow.judge.host.base import NOT_STARTED, Backend, Capabilities, Outcome, UnderWay
from bigcodeflow.judge.items import WorkItem

logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 10.0
#: The longest Retry-After that is followed; the service may be free sooner than it says.
_LONGEST_AFTER_SECONDS = 120.0
#: Seconds without attempts after an outage that lasted too long, so that not each of a thousand items waits for it.
_DOWN_SECONDS = 15.0
#: An outage is over if no call has failed for this long.
_FORGOTTEN_SECONDS = 180.0


class HostLostError(ExecutionError):
    """A host or service cannot be reached, has no room, or was lost; another attempt may succeed."""

    def __init__(self, message: str, after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds
        """Seconds of the service's Retry-After; None if the service sent no Retry-After."""


class HostRefusedError(ExecutionError):
    """A host or service refuses the work; another attempt would not succeed."""


def error_of(state: RetryCallState) -> HostLostError:
    return cast("HostLostError", state.outcome and state.outcome.exception())


def wait_seconds(state: RetryCallState) -> float:
    """Return the seconds before the next attempt: the service's Retry-After, or else a growing, partly random pause."""
    after_seconds = error_of(state).after_seconds
    if after_seconds is None:
        first = _FIRST_PAUSE_SECONDS
        return tenacity.wait_exponential_jitter(first, _LONGEST_PAUSE_SECONDS, jitter=first)(state)
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
    """Return the result of ``call``; repeat it after errors of type ``after`` until ``stop``, then raise the error.

    The log names ``call`` without its arguments, which may hold programs: pass a function, not a ``partial``.
    """
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(after),
        stop=stop,
        wait=wait,
        before_sleep=tenacity.before_sleep_log(logger, level),
        reraise=True,
        **options,
    )
    return retrying(call, *arguments)


class Patience:
    """Condition that ends retries: ``is_loss`` holds for ``most_losses`` errors, or ``deadline`` (monotonic) passes."""

    def __init__(self, deadline: float, most_losses: int, is_loss: Callable[[HostLostError], bool]) -> None:
        self._deadline, self._most_losses, self._is_loss = deadline, most_losses, is_loss
        self._losses = 0
        self.is_late = False
        """True if the deadline stopped the loop."""

    def __call__(self, state: RetryCallState) -> bool:
        """Count the error of the last attempt; return True if the loop must stop."""
        self._losses += self._is_loss(error_of(state))
        if self._losses >= self._most_losses:
            return True
        self.is_late = time.monotonic() + state.upcoming_sleep > self._deadline
        return self.is_late


class Outage:
    """Record of failed calls of a service, or of a system such as Docker that starts hosts; shared by all threads."""

    def __init__(self, away_seconds: float) -> None:
        """Begin with no outage; after ``away_seconds`` of failed calls, ``given_up`` is true for a while."""
        self._away_seconds = away_seconds
        self._since: float | None = None
        self._last = self._down_until = 0.0
        self.reason = ""

    @property
    def given_up(self) -> bool:
        """True for some seconds after an outage of ``away_seconds``; callers make no attempt in this time."""
        return time.monotonic() < self._down_until

    def failed(self, error: ExecutionError) -> None:
        now = time.monotonic()
        if self._since is None or now - self._last > _FORGOTTEN_SECONDS:
            self._since = now
        self._last, self.reason = now, str(error)
        if now - self._since >= self._away_seconds:
            self._down_until = now + _DOWN_SECONDS

    def end(self) -> None:
        self._since, self._down_until = None, 0.0


class PlannedBackend(UnderWay):
    """Base of remote backends: the host plans warm starts, and items that cannot be executed count as not started."""

    def __init__(self, config: ExecutionConfig) -> None:
        super().__init__()
        self.name: str = config.backend
        self._config = config

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Return the isolation that the host guarantees; raise SandboxUnavailableError if it is less than required."""
        found = self._promised()
        if not (found.isolated or allow_unisolated):
            raise SandboxUnavailableError(
                f"backend {self.name} does not isolate samples from one another: pass --allow-unisolated to "
                "execute them all the same"
            )
        return found

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Return the items with the remote host's plan for their warm starts; unchanged if the host cannot plan."""
        if self._config.start == "cold" or not items:
            return items
        try:
            return self._planned(items)
        except BigCodeFlowError as error:
            logger.warning("backend %s: samples start without a plan, which is slower: %s", self.name, error)
            return items

    def execute(self, item: WorkItem) -> Outcome:
        """Execute one item; repeat the attempt if the item, its host or the response is lost."""
        try:
            with self.noted(item):
                return self._executed(item)
        except ExecutionError as error:
            return Outcome(exit=f"{NOT_STARTED}backend {self.name}: {error}")

    def _promised(self) -> Capabilities:
        raise NotImplementedError

    def _planned(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        raise NotImplementedError

    def _executed(self, item: WorkItem) -> Outcome:
        raise NotImplementedError


class FailoverBackend:
    """Backend that executes items in the first backend; items that cannot start there go to the second backend."""

    def __init__(self, first: Backend, second: Backend, environment: Environment) -> None:
        """Start nothing yet; ``environment`` is the second backend's, and the second backend's verdicts name it."""
        self.name = first.name
        self._first, self._second, self._environment = first, second, environment
        self._warned = False

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        try:
            return self._first.check(allow_unisolated=allow_unisolated)
        except SandboxUnavailableError as error:
            self._warn(str(error))
            return self._second.check(allow_unisolated=allow_unisolated)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Return the items with the first backend's planned starts; the second backend has the same libraries."""
        return self._first.prepare(items)

    def execute(self, item: WorkItem) -> Outcome:
        outcome = self._first.execute(item)
        if not outcome.not_started:
            return outcome
        self._warn(outcome.exit)
        second = self._second.execute(item)
        if second.not_started:
            return replace(second, exit=f"{outcome.exit}; {second.exit}")
        return replace(second, backend=self._second.name, environment_sha=self._environment.environment_sha)

    def under_way(self) -> Mapping[str, float]:
        return {**self._first.under_way(), **self._second.under_way()}

    def close(self) -> None:
        self._first.close()
        self._second.close()

    def _warn(self, why: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning("backend %s executes what %s cannot start: %s", self._second.name, self._first.name, why)
