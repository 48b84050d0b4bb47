"""The place behind `bigcodeflow serve`: items go to a service over HTTP, one a request."""

import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.core.errors import ConfigError, EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.environments import Environment, RemoteEnvironment
from bigcodeflow.execution.backend_registry import BackendSpec
from bigcodeflow.execution.backends.base import NOT_STARTED, Capabilities, Outcome
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.http_calls import (
    AwayError,
    BusyError,
    CallError,
    KeyRefusedError,
    LateError,
    LostError,
    RefusedError,
    ServiceCalls,
    StrangerError,
)
from bigcodeflow.execution.worker_preflight import code_version

logger = logging.getLogger(__name__)

#: How long a service may be away, such as for a restart, before its items are given up.
_AWAY_SECONDS = 60.0
#: After that, how long nobody asks again: a thousand items must not each wait for it.
_DOWN_SECONDS = 15.0
#: Answers to one item that broke off or made no sense.
_MOST_LOSSES = 8
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 10.0
#: An outage that nobody has noticed anything of for so long is over.
_FORGOTTEN_SECONDS = 180.0
#: A service that asks for more patience is asked again all the same; its answer may have become another.
_LONGEST_AFTER_SECONDS = 120.0
#: What a plan's request holds beside its texts.
_SPARE_BYTES = 1 << 16


class HttpBackend:
    """Runs items at a service. Each call of ``execute`` is one execution there, however often it has to be asked."""

    name = "http"

    def __init__(self, config: ExecutionConfig, environment: Environment) -> None:
        """Nothing is asked yet.

        Args:
            config: service, limits and start.
            environment: where the service executed when the work was planned.
        """
        self._service, self._start = config.service, config.start
        self._limits = config.limits.model_dump(exclude={"time_seconds"})
        self._calls = _calls(config.service)
        self._batch = {
            "limits": self._limits,
            "start": config.start,
            "code_version": code_version(),
            "environment_sha": environment.environment_sha,
        }
        self._places = threading.BoundedSemaphore(config.service.concurrency)
        self._closed = threading.Event()
        self._outage = _Outage()
        self._late: dict[str, float] = {}

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Ask the service what it can promise.

        Raises:
            SandboxUnavailableError: it does not answer, allows less than is wanted, or does not isolate samples.
        """
        info = _info(self._calls, self._service)
        for name, wanted in self._limits.items():
            own = info.limits.get(name, 0)
            if own < wanted:
                raise SandboxUnavailableError(
                    f"the service at {self._calls.url} allows {name} {own:g}, and the run wants {wanted}: lower "
                    f"execution.limits.{name}, or start the service with --{name.replace('_', '-')} {wanted}"
                )
        told = info.capabilities
        if not (told.isolated or allow_unisolated):
            raise SandboxUnavailableError(
                f"the service at {self._calls.url} does not isolate samples: pass --allow-unisolated if that is meant"
            )
        return Capabilities(isolated=told.isolated, layers=told.layers, warm=told.warm)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The items with what a warm start needs, as the service plans it; as they are where that cannot be asked."""
        if self._start == "cold" or not items:
            return items
        try:
            most_bytes = (_info(self._calls, self._service).max_body_mib << 20) - _SPARE_BYTES
            starts = [
                start
                for tests, programs in _portions(items, most_bytes)
                for start in self._calls.prepare(tests, programs)
            ]
        except (CallError, ConfigError, SandboxUnavailableError) as error:
            logger.warning("backend http: samples start without a plan, which is slower: %s", error)
            return items
        return [
            replace(item, preload=preload, zygote=zygote) for item, (preload, zygote) in zip(items, starts, strict=True)
        ]

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item; what is lost on the way is asked for again, and not executed again."""
        if time.monotonic() < self._late.get(item.verdict_key, 0.0):
            return self._unplaced(LateError("it did not end the item in time"))
        with self._places:
            return self._persisted(item)

    def close(self) -> None:
        """Ask nothing any more; items under way come back not started."""
        self._closed.set()
        self._calls.close()

    def _persisted(self, item: WorkItem) -> Outcome:
        fields = _fields_of(item, key=uuid.uuid4().hex)
        deadline = time.monotonic() + self._service.timeout_seconds
        pauses, losses = _pauses(), 0
        told: CallError = RefusedError("nothing is asked of it any more, as the run ends")
        while not self._closed.is_set():
            if self._outage.given_up:
                return self._unplaced(self._outage.told)
            try:
                outcome = self._calls.execute(self._batch, fields, deadline)
            except CallError as error:
                told, losses = error, losses + isinstance(error, LostError)
            else:
                self._outage.over()
                return outcome
            wait = next(pauses) if told.after_seconds is None else _wait_of(told.after_seconds)
            if losses >= _MOST_LOSSES or self._hopeless(told) or self._is_late(item, told, deadline - wait):
                break
            logger.info("backend http: %s; an item is sent again in %.1f s", told, wait)
            self._closed.wait(wait)
        return self._unplaced(told)

    def _hopeless(self, error: CallError) -> bool:
        """Whether nothing is gained by asking again; what it says of the service is told to all other items."""
        if isinstance(error, AwayError):
            return self._outage.lasts(error)
        if isinstance(error, BusyError | RefusedError):
            self._outage.over()
        return isinstance(error, RefusedError)

    def _is_late(self, item: WorkItem, error: CallError, latest: float) -> bool:
        """Whether no time is left; an item that is executed again at once, as one without an end is, need not wait."""
        late = isinstance(error, LateError) or time.monotonic() > latest
        if late:
            self._late[item.verdict_key] = time.monotonic() + _AWAY_SECONDS
        return late

    def _unplaced(self, error: CallError) -> Outcome:
        return Outcome(exit=f"{NOT_STARTED}backend http: {_told(error, self._service)}")


class _Outage:
    """What all threads know of a service that is away."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._last = self._down_until = 0.0
        self.told: CallError = AwayError("it does not answer")

    @property
    def given_up(self) -> bool:
        """Whether it was away for so long, moments ago, that nobody has to try."""
        return time.monotonic() < self._down_until

    def lasts(self, told: CallError) -> bool:
        """Count a call that nobody answered; whether it has been too long now."""
        now = time.monotonic()
        if self._since is None or now - self._last > _FORGOTTEN_SECONDS:
            self._since = now
        self._last, self.told = now, told
        too_long = now - self._since > _AWAY_SECONDS
        if too_long:
            self._down_until = now + _DOWN_SECONDS
        return too_long

    def over(self) -> None:
        """Somebody answered."""
        self._since, self._down_until = None, 0.0


def _pauses() -> Iterator[float]:
    """Seconds between attempts: longer and longer, and of chance, so that threads do not come back together."""
    longest = _FIRST_PAUSE_SECONDS
    while True:
        yield longest * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret
        longest = min(2 * longest, _LONGEST_PAUSE_SECONDS)


def _wait_of(after_seconds: float) -> float:
    """Seconds to wait where the service says how many; all threads are told the same and must not come together."""
    return min(after_seconds, _LONGEST_AFTER_SECONDS) + random.uniform(0.0, _FIRST_PAUSE_SECONDS)  # noqa: S311


def _fields_of(item: WorkItem, *, key: str) -> dict[str, Any]:
    """What the service has to know of an item; its tests are judged here."""
    told = protocol.item_fields(item)
    names = ("program", "test", "time_seconds", "preload", "zygote", "expected_memory_mib", "stop_after", "separate")
    return {name: told[name] for name in names} | {"key": key, "expected_tests": [], "task_modules": []}


def _portions(items: Sequence[WorkItem], most_bytes: int) -> Iterator[tuple[list[str], list[tuple[str, int]]]]:
    """Texts of as many items as one request may hold, each test once."""
    tests: dict[str, int] = {}
    programs: list[tuple[str, int]] = []
    size_bytes = 0
    for item in items:
        own = len(protocol.line({"program": item.program, "test": len(items)})) + (
            0 if item.test in tests else len(protocol.line({"": item.test}))
        )
        if programs and size_bytes + own > most_bytes:
            yield list(tests), programs
            tests, programs, size_bytes = {}, [], len(protocol.line({"": item.test}))
        programs.append((item.program, tests.setdefault(item.test, len(tests))))
        size_bytes += own
    yield list(tests), programs


def _calls(service: ServiceConfig) -> ServiceCalls:
    key = os.environ.get(service.key_variable, "").strip()
    return ServiceCalls(service.url, key, connections=service.concurrency + 1)


def _told(error: CallError, service: ServiceConfig) -> str:
    """What is wrong with the service, and what to do."""
    remedy = {
        AwayError: "start it with `bigcodeflow serve`, or correct execution.service.url",
        BusyError: "raise execution.service.timeout_seconds, or give the service more cores",
        KeyRefusedError: f"set {service.key_variable} to its key",
        LateError: "raise execution.service.timeout_seconds, or give the service more cores",
        LostError: "look at the service's log, and run the same again",
        RefusedError: "",  # the service says itself what to do
        StrangerError: "see that execution.service.url names a service of bigcodeflow",
    }[type(error)]
    return ": ".join(filter(None, (f"the service at {service.url}", str(error), remedy)))


class _ServiceEnvironment(BaseModel):
    name: str
    environment_sha: str
    missing_data: tuple[str, ...]
    lock_sha256: str


class _ServiceCapabilities(BaseModel):
    isolated: bool
    layers: tuple[str, ...]
    warm: bool


class _Info(BaseModel):
    """What is used of that which a service tells of itself."""

    code_version: str
    environment: _ServiceEnvironment
    capabilities: _ServiceCapabilities
    limits: dict[str, float]
    max_body_mib: int


def _info(calls: ServiceCalls, service: ServiceConfig) -> _Info:
    """What the service tells of itself.

    Raises:
        ConfigError: the key is wrong.
        SandboxUnavailableError: it does not answer, or somebody else does.
    """
    try:
        return _Info.model_validate(calls.info())
    except KeyRefusedError as error:
        raise ConfigError(_told(error, service)) from None
    except CallError as error:
        raise SandboxUnavailableError(_told(error, service)) from None
    except ValidationError:
        stranger = StrangerError("what answers there is another program")
        raise SandboxUnavailableError(_told(stranger, service)) from None


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """The environment that the service executes in.

    Raises:
        ConfigError: the address or the key is wrong.
        EnvironmentUnusableError: the service is of another version, or executes in another environment.
        SandboxUnavailableError: it does not answer.
    """
    calls = _calls(config.service)
    try:
        info = _info(calls, config.service)
    finally:
        calls.close()
    if info.code_version != code_version():
        raise EnvironmentUnusableError(
            f"the service at {calls.url} has bigcodeflow {info.code_version}, and this machine {code_version()}: "
            "install the same version at both ends, and start the service again"
        )
    found = info.environment
    if found.name != config.environment:
        raise EnvironmentUnusableError(
            f"the service at {calls.url} executes in environment {found.name}, and the run wants {config.environment}: "
            f"start it with --environment {config.environment}, or set execution.environment to {found.name}"
        )
    return RemoteEnvironment(
        found.name, found.environment_sha, found.missing_data, lock_sha256=found.lock_sha256, reference=calls.url
    )


def _backend(
    config: ExecutionConfig,
    where: Environment,
    cores: float,
    isolated: bool,  # noqa: FBT001 - as a place has it
) -> HttpBackend:
    del cores, isolated  # the service knows its own
    return HttpBackend(config, where)


SPEC = BackendSpec(environment, _backend)
