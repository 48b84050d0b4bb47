"""Backends http and gradio: send items to `bigcodeflow serve` or a space over one HTTP API, one item per request."""

import logging
import random
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

from tenacity import (
    RetryCallState,
    Retrying,
    before_sleep_log,
    retry_if_exception_type,
    sleep_using_event,
    wait_exponential_jitter,
)

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError, EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.judge.backend_registry import BackendSpec
from bigcodeflow.judge.environments import Environment, RemoteEnvironment
from bigcodeflow.judge.host.base import NOT_STARTED, Capabilities, Outcome, UnderWay
from bigcodeflow.judge.items import WorkItem, code_version
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.http_client import (
    BrokenResponseError,
    CallRefusedError,
    DeadlinePassedError,
    ServiceBusyError,
    ServiceCallError,
    ServiceClient,
    ServiceUnreachableError,
)

logger = logging.getLogger(__name__)

#: Seconds that a service may be unreachable, such as for a restart, before its items are given up.
_AWAY_SECONDS = 60.0
#: Seconds after that without new requests: a thousand items must not each wait for the service.
_DOWN_SECONDS = 15.0
#: Most responses to one item that may break off or be invalid.
_MAX_LOSSES = 8
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 10.0
#: An outage is over if no call has failed for this long.
_FORGOTTEN_SECONDS = 180.0
#: The longest Retry-After that is followed; the service may be free sooner than it says.
_LONGEST_AFTER_SECONDS = 120.0


class HttpBackend:
    """Runs items at a service. Each call of ``execute`` is one execution there, however many requests it needs."""

    def __init__(self, config: ExecutionConfig, environment: Environment) -> None:
        """Send nothing yet; ``environment`` is the service's environment at the time of planning."""
        self.name: str = config.backend
        self._config = config
        self._limits = config.limits.model_dump(exclude={"time_seconds", "time_policy"})  # each item has its own
        self._client = ServiceClient(config, address=getattr(environment, "reference", ""))
        self._batch = {
            "limits": self._limits,
            "start": config.start,
            "code_version": code_version(),
            "environment_sha": environment.environment_sha,
        }
        self._room = threading.BoundedSemaphore(config.service.concurrency)
        self._closed = threading.Event()
        self._outage = _Outage()
        self._late: dict[str, float] = {}
        self._under_way = UnderWay()

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Return the service's capabilities; raise SandboxUnavailableError if it allows less than the run wants."""
        info = self._client.info()
        allowed = info.limits.model_dump()
        prefix = "--most-" if self.name == "gradio" else "--"
        for name, wanted in self._limits.items():
            if allowed[name] < wanted:
                raise SandboxUnavailableError(
                    f"the service at {self._client.url} allows {name} {allowed[name]:g}, and the run wants {wanted}: "
                    f"lower execution.limits.{name}, or start the service with {prefix}{name.replace('_', '-')} "
                    f"{wanted}"
                )
        found = info.capabilities
        if not (found.isolated or allow_unisolated):
            raise SandboxUnavailableError(
                f"the service at {self._client.url} does not isolate samples: pass --allow-unisolated if that is meant"
            )
        return found

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """Return the items with the service's plan for their warm starts; unchanged if it cannot plan."""
        if self._config.start == "cold" or not items:
            return items
        try:
            max_bytes = (self._client.info().max_body_mib << 20) - (1 << 16)  # room for all but the texts
            return protocol.with_starts(items, self._client.prepare, max_bytes)
        except BigCodeFlowError as error:
            logger.warning("backend %s: samples start without a plan, which is slower: %s", self.name, error)
            return items

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item; if a response is lost, request it again, without a second execution."""
        if time.monotonic() < self._late.get(item.verdict_key, 0.0):
            return self._unplaced(DeadlinePassedError("it did not end the item in time"))
        with self._room, self._under_way.noted(item):
            fields = protocol.item_fields(item, name="", key=uuid.uuid4().hex)
            deadline = time.monotonic() + self._config.service.timeout_seconds
            losses = 0

            def gives_up(state: RetryCallState) -> bool:
                nonlocal losses
                error = _error_of(state)
                losses += isinstance(error, BrokenResponseError)
                if self._outage.given_up or losses >= _MAX_LOSSES or self._is_hopeless(error):
                    return True
                late = isinstance(error, DeadlinePassedError) or time.monotonic() + state.upcoming_sleep > deadline
                if late:  # the engine executes the item again soon, and should not wait as long a second time
                    self._late[item.verdict_key] = time.monotonic() + _AWAY_SECONDS
                return late

            repeat = Retrying(
                retry=retry_if_exception_type(ServiceCallError),
                wait=_wait_seconds,
                stop=gives_up,
                sleep=sleep_using_event(self._closed),
                before_sleep=before_sleep_log(logger, logging.INFO),
                reraise=True,
            )
            try:
                return repeat(self._execute_once, fields, deadline)
            except ServiceCallError as error:
                return self._unplaced(error)

    def under_way(self) -> Mapping[str, float]:
        """Return the seconds since each item was sent, time in the service's queue included, by verdict key."""
        return self._under_way.seconds()

    def close(self) -> None:
        """Stop sending requests; running items return as not started."""
        self._closed.set()
        self._client.close()

    def _execute_once(self, fields: dict[str, Any], deadline: float) -> Outcome:
        if self._outage.given_up:
            raise ServiceUnreachableError(self._outage.reason)
        outcome = self._client.execute(self._batch, fields, deadline)
        self._outage.end()
        return outcome

    def _is_hopeless(self, error: ServiceCallError) -> bool:
        """Tell if another attempt is useless; an outage is shared with all other items."""
        if isinstance(error, ServiceUnreachableError):
            return self._outage.lasts_too_long(error)
        if isinstance(error, ServiceBusyError | CallRefusedError):
            self._outage.end()
        return isinstance(error, CallRefusedError)

    def _unplaced(self, error: ServiceCallError) -> Outcome:
        return Outcome(exit=f"{NOT_STARTED}backend {self.name}: {self._client.explained(error)}")


class _Outage:
    """An outage of the service, shared by all threads."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._last = self._down_until = 0.0
        self.reason = "it does not answer"

    @property
    def given_up(self) -> bool:
        """True for a short time after it has lasted too long, while another attempt is useless."""
        return time.monotonic() < self._down_until

    def lasts_too_long(self, error: ServiceCallError) -> bool:
        """Record a call without a response; return True if the outage lasts too long now."""
        now = time.monotonic()
        if self._since is None or now - self._last > _FORGOTTEN_SECONDS:
            self._since = now
        self._last, self.reason = now, str(error)
        too_long = now - self._since > _AWAY_SECONDS
        if too_long:
            self._down_until = now + _DOWN_SECONDS
        return too_long

    def end(self) -> None:
        """Record a response, which ends the outage."""
        self._since, self._down_until = None, 0.0


def _error_of(state: RetryCallState) -> ServiceCallError:
    return cast("ServiceCallError", state.outcome and state.outcome.exception())


def _wait_seconds(state: RetryCallState) -> float:
    """Return the service's Retry-After, else a growing pause; a random part keeps threads from retrying together."""
    after_seconds = _error_of(state).after_seconds
    if after_seconds is None:
        pause = wait_exponential_jitter(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, jitter=_FIRST_PAUSE_SECONDS)
        return pause(state)
    return min(after_seconds, _LONGEST_AFTER_SECONDS) + random.uniform(0.0, _FIRST_PAUSE_SECONDS)  # noqa: S311


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """Return the environment that the service executes in."""
    with closing(ServiceClient(config)) as client:
        found = client.info().environment
    if found.name != config.environment:
        raise EnvironmentUnusableError(
            f"the service at {client.url} executes in environment {found.name}, and the run wants "
            f"{config.environment}: start it with --environment {config.environment}, or set execution.environment "
            f"to {found.name}"
        )
    return replace(found, reference=client.url)


SPEC = BackendSpec(environment, lambda config, found, *_: HttpBackend(config, found))
