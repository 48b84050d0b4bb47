"""A host in an E2B sandbox: its standard streams over the SDK, and what the SDK's errors mean for a run."""

import logging
import shlex
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
from connectrpc.errors import ConnectError
from e2b import (
    AuthenticationException,
    CommandHandle,
    RateLimitException,
    Sandbox,
    SandboxException,
    SandboxNotFoundException,
    ServiceBusyException,
)
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from bigcodeflow.core.errors import ExecutionError
from bigcodeflow.execution.remote.transports import HostLostError, HostRefusedError, whole_lines

logger = logging.getLogger(__name__)

#: The interpreter with bigcodeflow in a template, deployments/sandbox/Dockerfile.
HOST_PYTHON = "/opt/bigcodeflow/bin/python"
#: A template's ENV holds while it is built only.
_VARIABLES = {"BIGCODEFLOW_ENVIRONMENTS": "/opt/environments", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
#: One call takes 64 MiB, but whoever stands between need not; a plan of many programs is larger than this.
_BYTES_PER_CALL = 1 << 20
_STDERR_TAIL = 400
#: What the SDK raises for what E2B and the way there do; ValueError and KeyError for answers that are not E2B's.
SDK_ERRORS = (
    SandboxException,
    AuthenticationException,
    ServiceBusyException,
    ConnectError,
    httpx.HTTPError,
    OSError,
    ValueError,
    KeyError,
)
_RATE_LIMITED_ATTEMPTS = 8
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 4.0
_LONGEST_MESSAGE = 200
_FORBIDDEN, _ABSENT, _BAD_REQUEST = 403, 404, 400


class E2BTransport:
    """A sandbox with a running host; the sandbox is extended as long as the transport is open, and killed with it."""

    def __init__(
        self, sandbox: Sandbox, environment: str, *, timeout_seconds: int, ended: Callable[[float], None]
    ) -> None:
        """Start the host; the sandbox is killed where that fails.

        Args:
            sandbox: a new one.
            environment: name of the environment in it.
            timeout_seconds: after which E2B kills it, unless it is extended.
            ended: called once with the seconds that it was held.

        Raises:
            HostLostError: the host does not start.
        """
        self.label = f"E2B sandbox {sandbox.sandbox_id}"
        self.sandbox, self._timeout_seconds, self._ended = sandbox, timeout_seconds, ended
        self._begun = time.monotonic()
        self._closed = threading.Event()
        self._closing = threading.Lock()
        self._stderr = ""
        self._outbox = Outbox(self._post)
        try:
            with translated():
                self._host = retry_rate_limited(lambda: _started_host(sandbox, environment))
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._extend, name=f"extend-{sandbox.sandbox_id}", daemon=True).start()

    def send(self, data: bytes) -> None:
        """Hand over whole lines; what several threads send at the same time goes in one call.

        Raises:
            HostLostError: the sandbox or its host is gone.
        """
        self._outbox.put(data)

    def lines(self) -> Iterator[bytes]:
        """The host's lines.

        Raises:
            HostLostError: at the end; its text says how that came.
        """
        try:
            yield from whole_lines(self._output())
        except SDK_ERRORS as error:
            raise HostLostError(f"its stream broke off ({one_line(error)})") from error
        last_words = f" ({self._stderr.strip()})" if self._stderr.strip() else ""
        raise HostLostError(f"its host ended{last_words}")

    def close(self) -> None:
        """Kill the sandbox; where E2B cannot be reached, it ends by its time-out."""
        with self._closing:
            if self._closed.is_set():
                return
            self._closed.set()
        try:
            self.sandbox.kill()
        except SDK_ERRORS as error:
            logger.warning(
                "%s could not be killed and will end by itself within %d s: %s",
                self.label,
                self._timeout_seconds,
                one_line(error),
            )
        self._ended(time.monotonic() - self._begun)

    def _output(self) -> Iterator[bytes]:
        for out, err, _ in self._host:
            if err:
                self._stderr = (self._stderr + err)[-_STDERR_TAIL:]
            if out:
                yield out.encode()

    def _post(self, data: bytes) -> None:
        for start in range(0, len(data), _BYTES_PER_CALL):
            piece = data[start : start + _BYTES_PER_CALL]
            try:
                retry_rate_limited(lambda piece=piece: self._host.send_stdin(piece))
            except SDK_ERRORS as error:
                raise HostLostError(f"{self.label} takes no input ({one_line(error)})") from error

    def _extend(self) -> None:
        """Keep the sandbox; three tries fit into its time-out."""
        while not self._closed.wait(self._timeout_seconds / 3):
            try:
                self.sandbox.set_timeout(self._timeout_seconds)
            except SandboxNotFoundException:
                return  # its stream has ended as well, and says so
            except SDK_ERRORS as error:
                logger.info("%s could not be extended: %s", self.label, one_line(error))
                if isinstance(error, SandboxException) and error.status_code == _BAD_REQUEST:
                    return  # as old as the plan lets a sandbox become; its items will begin again in another


class Outbox:
    """Hands over what several threads send, in order and in few calls; used by all of them at once."""

    def __init__(self, post: Callable[[bytes], None]) -> None:
        """Begin empty.

        Args:
            post: hands bytes over; called by one thread at a time, and not again after it failed.
        """
        self._post = post
        self._waiting: deque[bytes] = deque()
        self._posting = threading.Lock()
        self._failed: HostLostError | None = None

    def put(self, data: bytes) -> None:
        """Return when the data are handed over.

        Raises:
            HostLostError: they, or something before them, could not be.
        """
        self._waiting.append(data)
        with self._posting:
            if self._failed:
                raise self._failed
            batch = b"".join(self._waiting.popleft() for _ in range(len(self._waiting)))
            if not batch:
                return  # they went along with another thread's
            try:
                self._post(batch)
            except HostLostError as error:
                self._failed = error
                raise


def _started_host(sandbox: Sandbox, environment: str) -> CommandHandle[None]:
    return sandbox.commands.run(
        f"exec {HOST_PYTHON} -m bigcodeflow.execution.remote.host --environment {shlex.quote(environment)}",
        background=True,
        stdin=True,
        envs=_VARIABLES,
        cwd="/tmp",  # noqa: S108 -- the sandbox's own
        timeout=0,
        retain_output=False,
    )


class TemplateAbsentError(HostRefusedError):
    """There is no such template, or not for this key."""


def one_line(error: Exception) -> str:
    """An error of the SDK in one line of bounded length."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_MESSAGE]


def meaning_of(error: Exception, *, template: str = "") -> ExecutionError:
    """What an error of the SDK means: HostLostError may be mended by another try, HostRefusedError is not."""
    text = one_line(error)
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
        return HostLostError(
            f"E2B's limit is reached ({text}): set execution.e2b.sandboxes to what the plan allows, or run again later"
        )
    return HostLostError(f"E2B cannot be used for now ({text}): run again later")


@contextmanager
def translated(*, template: str = "") -> Iterator[None]:
    """Turns what the SDK raises into our own errors.

    Raises:
        HostLostError: another try may succeed.
        HostRefusedError: no other will.
    """
    try:
        yield
    except SDK_ERRORS as error:
        raise meaning_of(error, template=template) from error


#: Repeats a call to a sandbox while E2B limits the rate. The SDK repeats calls to the control plane itself, and those
#: to a sandbox never. An answer 429 says that nothing was done; after any other failure nobody knows, and a second call
#: might do the same twice.
retry_rate_limited = Retrying(
    retry=retry_if_exception_type(RateLimitException),
    wait=wait_random_exponential(multiplier=_FIRST_PAUSE_SECONDS, max=_LONGEST_PAUSE_SECONDS),
    stop=stop_after_attempt(_RATE_LIMITED_ATTEMPTS),
    reraise=True,
)
