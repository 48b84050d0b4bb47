"""The backend e2b: hosts in sandboxes of E2B's cloud, all made of one build of a template."""

import hashlib
import json
import logging
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from e2b import Sandbox, SandboxQuery, Template
from e2b.sandbox.sandbox_api import SandboxInfo

from bigcodeflow.config import E2BConfig, ExecutionConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.environments import Environment, RemoteEnvironment
from bigcodeflow.environments.images import TemplateRecord, read_record, template_name, write_record
from bigcodeflow.execution.backend_registry import BackendSpec
from bigcodeflow.execution.remote.backend import RemoteBackend
from bigcodeflow.execution.remote.e2b_transport import (
    SDK_ERRORS,
    E2BTransport,
    TemplateAbsentError,
    meaning_of,
    translated,
)
from bigcodeflow.execution.remote.transports import (
    Connection,
    HostLostError,
    HostRefusedError,
    is_orphan,
    machine_id,
    process_id,
)

logger = logging.getLogger(__name__)

#: Within it the SDK repeats what E2B refused with 429, 502, 503 or 504, and waits as long as Retry-After says.
_CREATE_SECONDS = 120.0
_DEFAULT_TAG = "default"
_SECONDS_PER_HOUR = 3600
#: E2B's list price, https://e2b.dev/pricing.
USD_PER_CORE_SECOND = 0.000014
USD_PER_GIB_SECOND = 0.0000045
_MIB_PER_GIB = 1024
_MACHINE, _OWNER, _RUN, _HOST = "bigcodeflow_machine", "bigcodeflow_owner", "bigcodeflow_run", "bigcodeflow_host"


class E2BBackend(RemoteBackend):
    """Runs items in sandboxes of one build, which are created when they are needed and killed at the end."""

    def __init__(self, config: ExecutionConfig, environment: RemoteEnvironment) -> None:
        """Nothing is created before it is needed."""
        super().__init__(
            "e2b",
            self._open,
            hosts=config.e2b.sandboxes,
            limits=config.limits,
            start=config.start,
            remove_orphans=remove_orphans,
        )
        self._config, self._environment = config.e2b, environment
        self._metadata = own_metadata()
        self._counting = threading.Lock()
        self._sandboxes, self._seconds = 0, 0.0

    def close(self) -> None:
        """Kill all sandboxes, and say what they cost."""
        super().close()
        with self._counting:
            sandboxes, seconds = self._sandboxes, self._seconds
            self._sandboxes, self._seconds = 0, 0.0
        if not sandboxes:
            return
        record = read_record(_build_id(self._environment.reference))
        if record:
            usd = estimate(self._config, seconds, cores=record.cores, memory_mib=record.memory_mib)
        else:  # a worker elsewhere, where nobody asked the template
            usd = estimate(self._config, seconds)
        hours = seconds / _SECONDS_PER_HOUR
        # A warning, as these and nothing less are taken from workers into a run's own log.
        logger.warning("backend e2b: %d sandboxes, %.3f hours in all, about USD %.4f", sandboxes, hours, usd)

    def _open(self) -> E2BTransport:
        return _opened(self._config, self._environment.reference, self._environment.name, self._metadata, self._held)

    def _held(self, seconds: float) -> None:
        with self._counting:
            self._sandboxes += 1
            self._seconds += seconds


def environment(config: ExecutionConfig) -> RemoteEnvironment:
    """The environment in the template's build; a build that nobody asked yet is asked, in one sandbox.

    Raises:
        EnvironmentUnusableError: there is no such template, or a sample may use more memory than its sandboxes have.
        SandboxUnavailableError: E2B cannot be reached, does not accept the key, or gives no sandbox.
    """
    template = config.e2b.template or template_name(config.environment)
    try:
        reference = _pinned(template)
        record = read_record(_build_id(reference))
        if record is None or record.environment != config.environment:
            record = _asked(config, reference)
    except TemplateAbsentError as error:
        raise EnvironmentUnusableError(f"backend e2b: {error}") from error
    except (HostLostError, HostRefusedError) as error:
        raise SandboxUnavailableError(f"backend e2b: {error}") from error
    if record.memory_mib < config.limits.memory_mib:
        raise EnvironmentUnusableError(
            f"backend e2b: sandboxes of {template} have {record.memory_mib} MiB, and a sample may use "
            f"execution.limits.memory_mib {config.limits.memory_mib}: build the template with more, or allow less"
        )
    return _remote(record, reference)


def _pinned(template: str) -> str:
    """The build that a template's name stands for now, as TEMPLATE:BUILD; it stays what it is when another is built."""
    name, _, tag = template.partition(":")
    if _is_build_id(tag):
        return template
    with translated(template=template):
        builds = {one.tag: one.build_id for one in Template.get_tags(name)}
    found = builds.get(tag or _DEFAULT_TAG)
    if not found:
        known = ", ".join(sorted(builds)) or "none: its build has not ended"
        raise TemplateAbsentError(f"template {name} has no build tagged {tag or _DEFAULT_TAG}; its tags are {known}")
    return f"{name}:{found}"


def _asked(config: ExecutionConfig, reference: str) -> TemplateRecord:
    """What the build's own host says, kept for the next time: a build never changes."""
    transport = _opened(config.e2b, reference, config.environment, own_metadata(), lambda _seconds: None)
    try:
        with translated():
            size = transport.sandbox.get_info()
        found = Connection(transport, config.limits, config.start).info.environment
    finally:
        transport.close()
    record = TemplateRecord(
        template_id=size.template_id,
        build_id=_build_id(reference),
        environment=found.name,
        environment_sha=found.environment_sha,
        lock_sha256=found.lock_sha256,
        missing_data=found.missing_data,
        cores=size.cpu_count,
        memory_mib=size.memory_mb,
    )
    write_record(record)
    return record


def _remote(record: TemplateRecord, reference: str) -> RemoteEnvironment:
    identity = json.dumps([record.environment_sha, record.build_id])
    return RemoteEnvironment(
        name=record.environment,
        # Two builds of one lock may differ in what lies around the libraries, and share no verdicts.
        environment_sha=hashlib.sha256(identity.encode()).hexdigest(),
        missing_data=record.missing_data,
        lock_sha256=record.lock_sha256,
        reference=reference,
    )


def _opened(
    config: E2BConfig, reference: str, name: str, metadata: Mapping[str, str], ended: Callable[[float], None]
) -> E2BTransport:
    with translated(template=reference):
        sandbox = Sandbox.create(
            template=reference,
            timeout=config.timeout_seconds,
            metadata=dict(metadata),
            allow_internet_access=False,
            idempotency_key=uuid.uuid4().hex,  # an answer that is lost on its way makes no second sandbox
            request_timeout=_CREATE_SECONDS,
        )
    return E2BTransport(sandbox, name, timeout_seconds=config.timeout_seconds, ended=ended)


def _build_id(reference: str) -> str:
    return reference.rpartition(":")[2]


def _is_build_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _backend(
    config: ExecutionConfig,
    environment: Environment,
    cores: float,
    isolated: bool,  # noqa: FBT001 -- as every place has it
) -> E2BBackend:
    del cores, isolated  # a sandbox has its template's, and its host sees to the isolation itself
    return E2BBackend(config, cast("RemoteEnvironment", environment))


def estimate(config: E2BConfig, seconds: float, *, cores: int = 2, memory_mib: int = 8192) -> float:
    """USD for sandboxes that were held for so many seconds, all of them together.

    Args:
        config: its usd_per_hour is the price of one sandbox, where it is not 0.
        seconds: sum over all sandboxes.
        cores: of each.
        memory_mib: of each.
    """
    if config.usd_per_hour:
        return seconds / _SECONDS_PER_HOUR * config.usd_per_hour
    return seconds * (cores * USD_PER_CORE_SECOND + memory_mib / _MIB_PER_GIB * USD_PER_GIB_SECOND)


def own_metadata() -> dict[str, str]:
    """What the sandboxes of this process are known by."""
    return {
        _MACHINE: machine_id(),
        _OWNER: process_id(),
        _RUN: uuid.uuid4().hex,
        _HOST: socket.gethostname(),
    }


def remove_orphans() -> int:
    """Kill the sandboxes of this machine's processes that are gone; those of other machines end by their time-out.

    Returns:
        How many there were.

    Raises:
        HostRefusedError: the key is not accepted.
    """
    removed = 0
    try:
        machine = machine_id()
        left = [one for one in _of_this_machine() if is_orphan(machine, one.metadata.get(_OWNER, ""))]
        for sandbox in left:  # all are known before one goes: a page may be counted from the first
            removed += Sandbox.kill(sandbox.sandbox_id)
    except SDK_ERRORS as error:
        refusal = meaning_of(error)
        if isinstance(refusal, HostRefusedError):
            raise refusal from error
        logger.warning("sandboxes that an earlier run left in E2B could not be looked for: %s", refusal)
    if removed:
        logger.info("ended %d sandboxes that an earlier run left in E2B", removed)
    return removed


def _of_this_machine() -> Iterator[SandboxInfo]:
    """Running and paused ones."""
    pages = Sandbox.list(query=SandboxQuery(metadata={_MACHINE: machine_id()}))
    while pages.has_next:
        yield from pages.next_items()


SPEC = BackendSpec(environment, _backend)
