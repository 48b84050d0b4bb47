"""Backends http and gradio: send items to `bigcodeflow serve` or a space over one HTTP API, one item per request."""

import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from tenacity import sleep_using_event

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, ExecutionError, SandboxUnavailableError
from bigcodeflow.judge.backend_registry import BackendSpec
from bigcodeflow.judge.environments import Environment, RemoteEnvironment
from bigcodeflow.judge.host.base import NOT_STARTED, Capabilities, Outcome
from bigcodeflow.judge.items import WorkItem, code_version
from bigcodeflow.judge.remote import http_client, protocol
from bigcodeflow.judge.remote.backend import HostRefusedError, Outage, Patience, PlannedBackend, repeated
from bigcodeflow.judge.remote.http_client import DeadlinePassedError, ServiceClient, ServiceUnreachableError

#: Seconds that a service may be unreachable, such as for a restart, before its items are given up.
_AWAY_SECONDS = 60.0
#: Most responses to one item that may break off or be invalid.
_MAX_LOSSES = 8


class HttpBackend(PlannedBackend):
    """Backend that executes items at a service; a call of ``execute`` starts one execution, even if sent again."""

    def __init__(self, config: ExecutionConfig, environment: Environment) -> None:
        """Prepare the client without sending anything; ``environment`` was read from the service earlier."""
        super().__init__(config)
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
        self._outage = Outage(_AWAY_SECONDS)
        self._late: dict[str, float] = {}

    def _promised(self) -> Capabilities:
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
        return info.capabilities

    def execute(self, item: WorkItem) -> Outcome:
        """Execute an item; if the response is lost, ask for the outcome again, which starts no second execution."""
        if time.monotonic() < self._late.get(item.verdict_key, 0.0):
            late = self._client.explained(DeadlinePassedError("it did not end the item in time"))
            return Outcome(exit=f"{NOT_STARTED}backend {self.name}: {late}")
        with self._room:
            return super().execute(item)

    def close(self) -> None:
        """Stop sending requests; items without a response get an outcome that says 'not started'."""
        self._closed.set()
        self._client.close()

    def _planned(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        max_bytes = (self._client.info().max_body_mib << 20) - (1 << 16)  # room for all but the texts
        return protocol.with_starts(items, self._client.prepare, max_bytes)

    def _executed(self, item: WorkItem) -> Outcome:
        fields = protocol.item_fields(item, name="", key=uuid.uuid4().hex)
        deadline = time.monotonic() + self._config.service.timeout_seconds
        patience = Patience(deadline, _MAX_LOSSES, lambda error: isinstance(error, http_client.BrokenResponseError))
        try:
            return repeated(
                lambda: self._execute_once(fields, deadline),
                stop=lambda state: self._outage.given_up or patience(state),
                sleep=sleep_using_event(self._closed),
            )
        except ExecutionError as error:
            # The engine executes the item again soon, and should not wait as long a second time.
            if patience.is_late or isinstance(error, DeadlinePassedError):
                self._late[item.verdict_key] = time.monotonic() + _AWAY_SECONDS
            raise ExecutionError(self._client.explained(error)) from error

    def _execute_once(self, fields: dict[str, Any], deadline: float) -> Outcome:
        if self._outage.given_up:
            raise ServiceUnreachableError(self._outage.reason)
        try:
            outcome = self._client.execute(self._batch, fields, deadline)
        except ServiceUnreachableError as error:
            self._outage.failed(error)
            raise
        except (http_client.ServiceBusyError, HostRefusedError):
            self._outage.end()
            raise
        self._outage.end()
        return outcome


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    with closing(ServiceClient(config)) as client:
        found = client.info().environment
    if found.name != config.environment:
        raise EnvironmentUnusableError(
            f"the service at {client.url} executes in environment {found.name}, and the run wants "
            f"{config.environment}: start the service with --environment {config.environment}, or set "
            f"execution.environment to {found.name}"
        )
    return replace(found, reference=client.url)


SPEC = BackendSpec(environment, lambda config, found, *_: HttpBackend(config, found))
