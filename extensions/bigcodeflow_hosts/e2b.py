"""Backend e2b: hosts run in sandboxes of E2B's cloud, which are all made from one build of a template."""

import hashlib
import json
import logging
import re
import shlex
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import e2b
import httpx
from connectrpc.errors import ConnectError
from pydantic import TypeAdapter
from tenacity import stop_after_attempt, wait_random_exponential

from bigcodeflow.config import E2BConfig, ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, ExecutionError, SandboxUnavailableError
from bigcodeflow.core.files import write_atomically
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.judge.backend_registry import BackendSpec, OnLong
from bigcodeflow.judge.environments import RemoteEnvironment
from bigcodeflow.judge.remote.backend import HostLostError, HostRefusedError, repeated
from bigcodeflow.judge.remote.protocol import whole_lines
from bigcodeflow_hosts.hosts import Connection, RemoteBackend, is_orphan, machine_id, process_id
from bigcodeflow_hosts.images import template_name

logger = logging.getLogger(f"bigcodeflow.{__name__}")

#: Time in which the SDK repeats calls that E2B refused with 429, 502, 503 or 504; it waits as Retry-After says.
_CREATE_SECONDS = 120.0
_SECONDS_PER_HOUR = 3600
#: E2B's list price, https://e2b.dev/pricing.
USD_PER_CORE_SECOND = 0.000014
USD_PER_GIB_SECOND = 0.0000045
_MACHINE, _OWNER, _RUN, _HOST = "bigcodeflow_machine", "bigcodeflow_owner", "bigcodeflow_run", "bigcodeflow_host"
#: The interpreter with bigcodeflow in a template, deployments/sandbox/Dockerfile.
HOST_PYTHON = "/opt/bigcodeflow/bin/python"
#: Variables of the host, because a template's ENV applies only while it is built.
_VARIABLES = {"BIGCODEFLOW_ENVIRONMENTS": "/opt/environments", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
#: E2B accepts 64 MiB in one call, a proxy in front of it may accept less; a plan of many programs is larger than this.
_BYTES_PER_CALL = 1 << 20
#: Errors of the SDK for faults of E2B and the network; ValueError and KeyError for answers that are not from E2B.
SDK_ERRORS = (
    e2b.SandboxException,
    e2b.AuthenticationException,
    e2b.ServiceBusyException,
    ConnectError,
    httpx.HTTPError,
    OSError,
    ValueError,
    KeyError,
)
_FORBIDDEN, _ABSENT, _BAD_REQUEST = 403, 404, 400
#: Repeats a call to a sandbox while E2B limits the rate; the SDK does this only for calls to the control plane. After
#: 429 nothing was done; after any other failure this is unknown, and a second call might do the same twice.
_repeat_rate_limited = partial(
    repeated,
    after=e2b.RateLimitException,
    wait=wait_random_exponential(multiplier=0.5, max=4.0),
    stop=stop_after_attempt(8),
)


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """Properties of one build of a template, as its host reports them; a build never changes."""

    build_id: str
    environment: RemoteEnvironment
    cores: int
    """Cores of each sandbox; `memory_mib` also holds for each sandbox."""
    memory_mib: int


class TemplateAbsentError(HostRefusedError):
    """E2B has no such template, or the user's key may not use the template."""


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _meaning_of(error: Exception, template: str) -> ExecutionError:
    """Convert an error of E2B's SDK to HostLostError if another attempt may succeed, else to HostRefusedError."""
    text, status = _one_line(error), getattr(error, "status_code", None)
    if isinstance(error, e2b.AuthenticationException):
        return HostRefusedError(
            "E2B does not accept the key: set E2B_API_KEY to a key of your team, from https://e2b.dev/dashboard"
        )
    if status in (_FORBIDDEN, _ABSENT) and template:
        return TemplateAbsentError(
            f"E2B has no template {template} that this key may use: run `bigcodeflow env build NAME --backend e2b`, or "
            "set execution.e2b.template to a template with a sandbox environment"
        )
    if status in (_BAD_REQUEST, _FORBIDDEN):
        return HostRefusedError(f"E2B refuses the call: {text}")
    if isinstance(error, e2b.RateLimitException):
        return HostLostError(
            f"E2B's limit is reached ({text}): set execution.e2b.sandboxes to what the plan allows, or run again later"
        )
    return HostLostError(f"E2B cannot be used for now ({text}): run again later")


@contextmanager
def _sdk_errors(*, template: str = "") -> Iterator[None]:
    """Convert errors of E2B's SDK in the block to HostLostError or HostRefusedError."""
    try:
        yield
    except SDK_ERRORS as error:
        raise _meaning_of(error, template) from error


class E2BTransport:
    """Connection to a host in an E2B sandbox; extends the sandbox's time-out until ``close`` kills the sandbox."""

    def __init__(
        self, sandbox: e2b.Sandbox, environment: str, *, timeout_seconds: int, ended: Callable[[float], None]
    ) -> None:
        """Start the host; if that fails, kill the sandbox. ``close`` calls ``ended`` with its age in seconds."""
        self.label = f"E2B sandbox {sandbox.sandbox_id}"
        self.sandbox, self._timeout_seconds, self._ended = sandbox, timeout_seconds, ended
        self._begun = time.monotonic()
        self._closed = threading.Event()
        self._closing, self._sending = threading.Lock(), threading.Lock()
        self._unsent: deque[bytes] = deque()
        self._stderr = ""
        command = f"exec {HOST_PYTHON} -m bigcodeflow.judge.remote.host --environment {shlex.quote(environment)}"
        try:
            with _sdk_errors():
                self._host = _repeat_rate_limited(
                    lambda: sandbox.commands.run(
                        command,
                        background=True,
                        stdin=True,
                        envs=_VARIABLES,
                        cwd="/tmp",  # noqa: S108 -- the sandbox's own
                        timeout=0,
                        retain_output=False,
                    )
                )
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._extend, name=f"extend-{sandbox.sandbox_id}", daemon=True).start()

    def send(self, data: bytes) -> None:
        """Send whole lines; lines that several threads send at the same time share one call."""
        self._unsent.append(data)
        with self._sending:
            # Empty if another thread has sent the lines; if its call failed, the connection is broken for all.
            batch = b"".join(self._unsent.popleft() for _ in range(len(self._unsent)))
            try:
                for start in range(0, len(batch), _BYTES_PER_CALL):
                    _repeat_rate_limited(self._host.send_stdin, batch[start : start + _BYTES_PER_CALL])
            except SDK_ERRORS as error:
                raise HostLostError(f"{self.label} is lost: nothing can be sent to it ({_one_line(error)})") from error

    def lines(self) -> Iterator[bytes]:
        """Yield the host's lines until it ends; then raise HostLostError with the reason."""
        try:
            yield from whole_lines(self._output())
        except SDK_ERRORS as error:
            raise HostLostError(f"E2B ended the connection to the sandbox ({_one_line(error)})") from error
        stderr = f" ({self._stderr.strip()})" if self._stderr.strip() else ""
        raise HostLostError(f"the process that executes samples in the E2B sandbox ended{stderr}")

    def close(self) -> None:
        """Kill the sandbox; if E2B cannot be reached, the sandbox ends by its time-out."""
        with self._closing:
            if self._closed.is_set():
                return
            self._closed.set()
        try:
            self.sandbox.kill()
        except SDK_ERRORS as error:
            message = "%s could not be killed and will end by itself within %d s: %s"
            logger.warning(message, self.label, self._timeout_seconds, _one_line(error))
        self._ended(time.monotonic() - self._begun)

    def _output(self) -> Iterator[bytes]:
        for out, err, _ in self._host:
            if err:
                self._stderr = (self._stderr + err)[-400:]
            if out:
                yield out.encode()

    def _extend(self) -> None:
        """Extend the sandbox's time-out regularly; three attempts fit into one time-out."""
        while not self._closed.wait(self._timeout_seconds / 3):
            try:
                self.sandbox.set_timeout(self._timeout_seconds)
            except e2b.SandboxNotFoundException:
                return  # its stream has ended as well, and says so
            except SDK_ERRORS as error:
                logger.info("the time-out of %s could not be extended: %s", self.label, _one_line(error))
                if isinstance(error, e2b.SandboxException) and error.status_code == _BAD_REQUEST:
                    return  # the sandbox has the plan's maximum age; its items will start again in another sandbox


def _open_transport(
    config: ExecutionConfig, environment: RemoteEnvironment, metadata: Mapping[str, str], ended: Callable[[float], None]
) -> E2BTransport:
    with _sdk_errors(template=environment.reference):
        sandbox = e2b.Sandbox.create(
            template=environment.reference,
            timeout=config.e2b.timeout_seconds,
            metadata=dict(metadata),
            allow_internet_access=False,
            idempotency_key=uuid.uuid4().hex,  # an answer that is lost on its way makes no second sandbox
            request_timeout=_CREATE_SECONDS,
        )
    return E2BTransport(sandbox, environment.name, timeout_seconds=config.e2b.timeout_seconds, ended=ended)


class E2BBackend(RemoteBackend):
    """Backend that executes items in sandboxes of one template build, created on demand and killed at the end."""

    def __init__(self, config: ExecutionConfig, environment: RemoteEnvironment, on_long: OnLong | None = None) -> None:
        metadata = own_metadata()
        super().__init__(
            config,
            lambda: _open_transport(config, environment, metadata, self._held_seconds.append),
            hosts=config.e2b.sandboxes,
            remove_orphans=remove_orphans,
            on_long=on_long,
        )
        self._reference = environment.reference
        self._held_seconds: list[float] = []

    def close(self) -> None:
        """Kill all sandboxes, and log what they cost."""
        super().close()
        held, self._held_seconds = self._held_seconds, []
        if held:
            usd = estimate(self._config.e2b, sum(held), read_record(_build_id(self._reference)))
            hours = sum(held) / _SECONDS_PER_HOUR
            # A warning, because only warnings and errors are copied from workers into a run's log.
            logger.warning("backend e2b: %d sandboxes ran %.3f hours in all, for about USD %.4f", len(held), hours, usd)


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """Return the environment in the template's current build; if its record is not cached, ask a new sandbox for it."""
    template = config.e2b.template or template_name(config.environment)
    try:
        reference = _pinned(template)
        record = read_record(_build_id(reference))
        if record is None or record.environment.name != config.environment:
            record = _describe_build(config, reference)
    except TemplateAbsentError as error:
        raise EnvironmentUnusableError(f"backend e2b: {error}") from error
    except (HostLostError, HostRefusedError) as error:
        raise SandboxUnavailableError(f"backend e2b: {error}") from error
    if record.memory_mib < config.limits.memory_mib:
        raise EnvironmentUnusableError(
            f"backend e2b: sandboxes of {template} have {record.memory_mib} MiB, but a sample may use "
            f"execution.limits.memory_mib {config.limits.memory_mib}: give the template more memory, or lower the limit"
        )
    # Two builds of one lock may differ outside the libraries, so they share no verdicts.
    identity = json.dumps([record.environment.environment_sha, record.build_id])
    sha = hashlib.sha256(identity.encode()).hexdigest()
    return replace(record.environment, environment_sha=sha, reference=reference)


def _pinned(template: str) -> str:
    """Return a reference TEMPLATE:BUILD to a template's current build, which later builds do not change."""
    name, _, tag = template.partition(":")
    try:
        if str(uuid.UUID(tag)) == tag:
            return template
    except ValueError:
        tag = tag or "default"
    with _sdk_errors(template=template):
        builds = {one.tag: one.build_id for one in e2b.Template.get_tags(name)}
    if not builds.get(tag):
        known = ", ".join(sorted(builds)) or "none: its build has not ended"
        raise TemplateAbsentError(f"template {name} has no build tagged {tag} (its tags: {known}): name one of these")
    return f"{name}:{builds[tag]}"


def _build_id(reference: str) -> str:
    return reference.rpartition(":")[2]


def _describe_build(config: ExecutionConfig, reference: str) -> TemplateRecord:
    """Start a sandbox of a build, ask its host for the build's record, and cache and return the record."""
    asked = RemoteEnvironment(config.environment, "", reference=reference)
    transport = _open_transport(config, asked, own_metadata(), lambda _seconds: None)
    try:
        with _sdk_errors():
            size = transport.sandbox.get_info()
        found = Connection(transport, config.limits, config.start).info.environment
    finally:
        transport.close()
    record = TemplateRecord(_build_id(reference), found, cores=size.cpu_count, memory_mib=size.memory_mb)
    write_record(record)
    return record


def read_record(build_id: str) -> TemplateRecord | None:
    """Return a build's record from this machine's cache; None if the cache lacks it, or has it in another format."""
    try:
        return TypeAdapter(TemplateRecord).validate_json(_record_path(build_id).read_bytes())
    except (OSError, ValueError):
        return None  # not stored yet, or by another version: the host can be asked again


def write_record(record: TemplateRecord) -> None:
    write_atomically(_record_path(record.build_id), TypeAdapter(TemplateRecord).dump_json(record, indent=2))


def _record_path(build_id: str) -> Path:
    return cache_folder() / "e2b" / f"{re.sub(r'[^0-9A-Za-z-]', '', build_id)}.json"


def estimate(config: E2BConfig, seconds: float, record: TemplateRecord | None = None) -> float:
    """Return the cost in USD of sandboxes that ran ``seconds`` in all; without ``record``, of two cores and 8 GiB."""
    if config.usd_per_hour:
        return seconds / _SECONDS_PER_HOUR * config.usd_per_hour
    cores, memory_mib = (record.cores, record.memory_mib) if record else (2, 8192)
    return seconds * (cores * USD_PER_CORE_SECOND + memory_mib / 1024 * USD_PER_GIB_SECOND)


def own_metadata() -> dict[str, str]:
    return {_MACHINE: machine_id(), _OWNER: process_id(), _RUN: uuid.uuid4().hex, _HOST: socket.gethostname()}


def remove_orphans() -> int:
    """Kill the sandboxes whose owner, a process of this machine, has ended; return the number of killed sandboxes."""
    removed, machine, found = 0, machine_id(), []
    try:
        pages = e2b.Sandbox.list(query=e2b.SandboxQuery(metadata={_MACHINE: machine}))
        while pages.has_next:  # running or paused; all are listed before any is killed, as kills shift the pages
            found += pages.next_items()
        for sandbox in found:
            if is_orphan(machine, sandbox.metadata.get(_OWNER, "")):
                removed += e2b.Sandbox.kill(sandbox.sandbox_id)
    except SDK_ERRORS as error:
        refusal = _meaning_of(error, "")
        if isinstance(refusal, HostRefusedError):
            raise refusal from error
        logger.warning("sandboxes that an earlier run left in E2B could not be listed or ended: %s", refusal)
    if removed:
        logger.info("ended %d sandboxes that an earlier run left in E2B", removed)
    return removed


SPEC = BackendSpec(
    environment,
    lambda config, found, _cores, _isolated, on_long: E2BBackend(config, cast("RemoteEnvironment", found), on_long),
)
