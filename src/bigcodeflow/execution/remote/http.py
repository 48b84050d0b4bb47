"""The backends http and gradio: items go to `bigcodeflow serve` or to a space over the same HTTP API, one a request."""

import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any, cast

import httpx2
from pydantic import ValidationError
from tenacity import (
    RetryCallState,
    Retrying,
    before_sleep_log,
    retry_if_exception_type,
    sleep_using_event,
    wait_exponential_jitter,
)

from bigcodeflow.config import ExecutionConfig
from bigcodeflow.core.errors import BigCodeFlowError, ConfigError, EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.environments import Environment, RemoteEnvironment
from bigcodeflow.execution.backend_registry import BackendSpec
from bigcodeflow.execution.backends.base import NOT_STARTED, Capabilities, Outcome
from bigcodeflow.execution.items import WorkItem, code_version
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.http_client import (
    BrokenResponseError,
    CallRefusedError,
    DeadlinePassedError,
    KeyRejectedError,
    NotAServiceError,
    ServiceBusyError,
    ServiceCallError,
    ServiceClient,
    ServiceUnreachableError,
)

logger = logging.getLogger(__name__)

#: How long a service may be away, such as for a restart, before its items are given up.
_AWAY_SECONDS = 60.0
#: After that, how long nobody asks again: a thousand items must not each wait for it.
_DOWN_SECONDS = 15.0
#: Answers to one item that broke off or made no sense.
_MAX_LOSSES = 8
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 10.0
#: An outage that nobody has noticed anything of for so long is over.
_FORGOTTEN_SECONDS = 180.0
#: A service that asks for more patience is asked again all the same; its answer may have become another.
_LONGEST_AFTER_SECONDS = 120.0
#: What a plan's request holds beside its texts.
_SPARE_BYTES = 1 << 16
#: What starts the far end.
_COMMANDS = {"http": "bigcodeflow serve", "gradio": "python -m bigcodeflow.serving.space"}


class HttpBackend:
    """Runs items at a service. Each call of ``execute`` is one execution there, however often it has to be asked."""

    def __init__(self, config: ExecutionConfig, environment: Environment) -> None:
        """Nothing is asked yet.

        Args:
            config: backend, service, limits and start.
            environment: where the service executed when the work was planned.
        """
        self.name: str = config.backend
        self._config, self._service = config, config.service
        self._limits = config.limits.model_dump(exclude={"time_seconds"})
        self._client = _client(config, address=getattr(environment, "reference", ""))
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

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Ask the service what it can promise.

        Raises:
            SandboxUnavailableError: it does not answer, allows less than is wanted, or does not isolate samples.
        """
        info = _info(self._client, self._config)
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
        return Capabilities(isolated=found.isolated, layers=found.layers, warm=found.warm)

    def prepare(self, items: Sequence[WorkItem]) -> Sequence[WorkItem]:
        """The items with what a warm start needs, as the service plans it; as they are where that cannot be asked."""
        if self._config.start == "cold" or not items:
            return items
        try:
            max_bytes = (_info(self._client, self._config).max_body_mib << 20) - _SPARE_BYTES
            responses = [self._client.prepare(one) for one in protocol.prepare_requests(items, max_bytes)]
            return protocol.with_starts(items, responses)
        except BigCodeFlowError as error:
            logger.warning("backend %s: samples start without a plan, which is slower: %s", self.name, error)
            return items

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item; what is lost on the way is asked for again, and not executed again."""
        if time.monotonic() < self._late.get(item.verdict_key, 0.0):
            return self._unplaced(DeadlinePassedError("it did not end the item in time"))
        with self._room:
            fields = protocol.item_fields(item, name="", key=uuid.uuid4().hex)
            deadline = time.monotonic() + self._service.timeout_seconds
            losses = 0

            def gives_up(state: RetryCallState) -> bool:
                nonlocal losses
                error = _error_of(state)
                losses += isinstance(error, BrokenResponseError)
                if self._outage.given_up or losses >= _MAX_LOSSES or self._is_hopeless(error):
                    return True
                late = isinstance(error, DeadlinePassedError) or time.monotonic() + state.upcoming_sleep > deadline
                if late:  # whoever executes it again at once, as one without an end, need not wait
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

    def close(self) -> None:
        """Ask nothing any more; items under way come back not started."""
        self._closed.set()
        self._client.close()

    def _execute_once(self, fields: dict[str, Any], deadline: float) -> Outcome:
        if self._outage.given_up:
            raise ServiceUnreachableError(self._outage.reason)
        outcome = self._client.execute(self._batch, fields, deadline)
        self._outage.over()
        return outcome

    def _is_hopeless(self, error: ServiceCallError) -> bool:
        """Whether nothing is gained by asking again; an outage is shared with all other items."""
        if isinstance(error, ServiceUnreachableError):
            return self._outage.lasts(error)
        if isinstance(error, ServiceBusyError | CallRefusedError):
            self._outage.over()
        return isinstance(error, CallRefusedError)

    def _unplaced(self, error: ServiceCallError) -> Outcome:
        return Outcome(exit=f"{NOT_STARTED}backend {self.name}: {_message(error, self._config)}")


class _Outage:
    """What all threads know of a service that is away."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._last = self._down_until = 0.0
        self.reason = "it does not answer"

    @property
    def given_up(self) -> bool:
        """Whether it was away for so long, moments ago, that nobody has to try."""
        return time.monotonic() < self._down_until

    def lasts(self, error: ServiceCallError) -> bool:
        """Count a call that nobody answered; whether it has been too long now."""
        now = time.monotonic()
        if self._since is None or now - self._last > _FORGOTTEN_SECONDS:
            self._since = now
        self._last, self.reason = now, str(error)
        too_long = now - self._since > _AWAY_SECONDS
        if too_long:
            self._down_until = now + _DOWN_SECONDS
        return too_long

    def over(self) -> None:
        """Somebody answered."""
        self._since, self._down_until = None, 0.0


def _error_of(state: RetryCallState) -> ServiceCallError:
    return cast("ServiceCallError", state.outcome and state.outcome.exception())


def _wait_seconds(state: RetryCallState) -> float:
    """As long as the service says, else longer and longer; a random part keeps threads from coming back together."""
    after_seconds = _error_of(state).after_seconds
    if after_seconds is None:
        pause = wait_exponential_jitter(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, jitter=_FIRST_PAUSE_SECONDS)
        return pause(state)
    return min(after_seconds, _LONGEST_AFTER_SECONDS) + random.uniform(0.0, _FIRST_PAUSE_SECONDS)  # noqa: S311


def _client(config: ExecutionConfig, *, address: str = "") -> ServiceClient:
    """A client of the configured service.

    Args:
        config: backend and service.
        address: of a space that the configuration names as OWNER/NAME, where it is known already.

    Raises:
        ConfigError: the address or the key cannot be used.
        SandboxUnavailableError: the hub does not say where the space is.
    """
    service, headers = config.service, {}
    url = service.url
    if config.backend == "gradio" and "://" not in url:
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

        try:
            url = address or str(HfApi().space_info(url).host or "")
        except (HfHubHTTPError, HFValidationError, httpx2.HTTPError, OSError) as error:
            reason = " ".join(str(error).split())
            raise SandboxUnavailableError(f"space {url}: the hub does not say where it is ({reason})") from None
        if not url:
            raise SandboxUnavailableError(f"space {service.url} has no address: start it on the hub")
        # The hub's own token lets in to a private space; it is sent to the hub's spaces only.
        headers = {"X-HF-Authorization": f"Bearer {token}"} if (token := get_token()) else {}
    key = os.environ.get(service.key_variable, "").strip()
    return ServiceClient(url, key, connections=service.concurrency + 1, headers=headers)


def _message(error: ServiceCallError, config: ExecutionConfig) -> str:
    """What is wrong with the service, and what to do."""
    remedy = error.remedy.format(command=_COMMANDS[config.backend], key_variable=config.service.key_variable)
    return ": ".join(filter(None, (f"the service at {config.service.url}", str(error), remedy)))


def _info(client: ServiceClient, config: ExecutionConfig) -> protocol.Info:
    """What the service says of itself.

    Raises:
        ConfigError: the key is wrong.
        EnvironmentUnusableError: the service is of another version.
        SandboxUnavailableError: it does not answer, or somebody else does.
    """
    try:
        response = client.info()
        version = response.get("code_version")
        if isinstance(version, str) and version != code_version():
            raise EnvironmentUnusableError(
                f"the service at {client.url} has bigcodeflow {version}, and this machine {code_version()}: "
                "install the same version at both ends, and start the service again"
            )
        return protocol.Info.model_validate(response)
    except KeyRejectedError as error:
        raise ConfigError(_message(error, config)) from None
    except ServiceCallError as error:
        raise SandboxUnavailableError(_message(error, config)) from None
    except ValidationError:
        stranger = NotAServiceError("what answers there is another program")
        raise SandboxUnavailableError(_message(stranger, config)) from None


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """The environment that the service executes in.

    Raises:
        ConfigError: the address or the key is wrong.
        EnvironmentUnusableError: the service is of another version, or executes in another environment.
        SandboxUnavailableError: it does not answer.
    """
    client = _client(config)
    try:
        found = _info(client, config).environment
    finally:
        client.close()
    if found.name != config.environment:
        raise EnvironmentUnusableError(
            f"the service at {client.url} executes in environment {found.name}, and the run wants "
            f"{config.environment}: start it with --environment {config.environment}, or set execution.environment "
            f"to {found.name}"
        )
    return RemoteEnvironment(
        found.name, found.environment_sha, found.missing_data, lock_sha256=found.lock_sha256, reference=client.url
    )


SPEC = BackendSpec(environment, lambda config, place, _cores, _isolated: HttpBackend(config, place))
