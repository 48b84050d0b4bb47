"""The way to a Gradio space: one client, its calls, and what went wrong in words of this project."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigcodeflow.config import ServiceConfig
from bigcodeflow.execution.remote.transports import HostRefusedError, LinkLostError

# Read by the client when it is made: a run tells nobody that it happens.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import httpx
from gradio_client import Client, handle_file  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError, AuthenticationError  # type: ignore[import-untyped]
from gradio_client.utils import QueueError, TooManyRequestsError  # type: ignore[import-untyped]
from huggingface_hub.errors import HfHubHTTPError

if TYPE_CHECKING:
    from gradio_client.client import Job  # type: ignore[import-untyped]

#: A space that says nothing for so long is taken for dead; ours tells every 5 s that it lives.
SILENCE_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
_SECONDS_BETWEEN_LOOKS = 0.02
_REST_SECONDS = 2.0

#: What the client raises where a space cannot be reached, does not answer, or answers what is no answer.
_FAULTS = (httpx.HTTPError, httpx.InvalidURL, HfHubHTTPError, OSError, ValueError, QueueError, TooManyRequestsError)


class SpaceBusyError(LinkLostError):
    """The space's queue is full; the same call may be let in later."""


class FileRefusedError(HostRefusedError):
    """The space takes no file like this one; a part of it may be welcome."""


class Space:
    """A session with a space; used for one call at a time.

    The client can have several calls in one session, but their common stream ends with the last of them, and what
    belongs to a call that begins at that moment is lost.
    """

    def __init__(self, service: ServiceConfig) -> None:
        """Connect.

        Raises:
            LinkLostError: the space does not answer.
            SpaceBusyError: it asks for patience.
            HostRefusedError: it wants another key.
        """
        self.label = f"space {service.url}"
        self._variable = service.key_variable
        key = os.environ.get(service.key_variable, "")
        on_hub = "://" not in service.url
        try:
            self._client = Client(
                service.url,
                # The hub's own token, which the client would send to any address, is for the hub.
                token=None if on_hub else False,
                headers={"Authorization": f"Bearer {key}"} if key else None,
                max_workers=1,
                download_files=False,
                verbose=False,
                ssl_verify=_certificates(),
                analytics_enabled=False,
                httpx_kwargs={"timeout": httpx.Timeout(SILENCE_SECONDS, connect=_CONNECT_SECONDS)},
            )
        except _FAULTS as error:
            raise self._meaning(error) from error

    def offers(self, name: str) -> frozenset[str]:
        """Names of the parameters of an endpoint, such as /execute.

        Raises:
            HostRefusedError: the space has no such endpoint.
        """
        described = self._client.view_api(return_format="dict", print_info=False)
        endpoint = described["named_endpoints"].get(name) if isinstance(described, dict) else None
        if endpoint is None:
            raise HostRefusedError(f"{self.label} has no endpoint {name}: is this the right space?")
        return frozenset(parameter["parameter_name"] for parameter in endpoint["parameters"])

    def result(self, name: str, timeout_seconds: float, **parameters: object) -> object:
        """What an endpoint returns.

        Raises:
            LinkLostError: it does not.
            HostRefusedError: it will not, however often it is asked.
        """
        try:
            return self._client.submit(api_name=name, **parameters).result(timeout=timeout_seconds)
        except TimeoutError:
            raise LinkLostError(f"{self.label} gave no answer within {timeout_seconds:g} s") from None
        except (*_FAULTS, CancelledError) as error:
            raise self._meaning(error) from error

    def converse(self, text: bytes, *, wanted: Callable[[], bool]) -> Iterator[str]:
        """Send a file to /execute and give what comes back, piece by piece.

        Args:
            text: the file.
            wanted: asked now and then; once it says no, the call is given up.

        Raises:
            SpaceBusyError: the space's queue is full.
            LinkLostError: the space is gone, or was silent for too long.
            FileRefusedError: it takes no file of this size.
            HostRefusedError: it wants another key.
        """
        if len(text) > (self._client.config.get("max_file_size") or len(text)):
            raise self._too_large()
        with tempfile.NamedTemporaryFile(prefix="bigcodeflow-", suffix=".jsonl") as file:
            file.write(text)
            file.flush()
            job = self._client.submit(handle_file(file.name), api_name="/execute")
            try:
                yield from self._pieces(job, wanted)
                error = job.exception(timeout=0) if job.done() else None
            except CancelledError as cancelled:
                error = cancelled
            finally:
                if not job.done():
                    job.cancel()
        if error:
            raise self._meaning(error) from error

    def rests(self) -> bool:
        """Whether the stream of the last call has ended, as it does within moments, so that another call may begin."""
        deadline = time.monotonic() + _REST_SECONDS
        while self._client.streaming_future is not None and time.monotonic() < deadline:
            time.sleep(_SECONDS_BETWEEN_LOOKS / 4)
        return self._client.streaming_future is None

    def close(self) -> None:
        """End the session."""
        self._client.close()

    def _pieces(self, job: "Job", wanted: Callable[[], bool]) -> Iterator[str]:
        count, heard, ended = 0, time.monotonic(), False
        while not ended and wanted():
            ended = job.done()  # asked first: what came before the end is then among the outputs
            pieces = job.outputs()[count:]
            for piece in pieces:
                if not isinstance(piece, str):
                    raise LinkLostError(f"{self.label} answers something else than lines")
                yield piece
            if pieces:
                count, heard = count + len(pieces), time.monotonic()
            elif time.monotonic() - heard > SILENCE_SECONDS and not _queued(job):
                raise LinkLostError(f"{self.label} has been silent for {SILENCE_SECONDS:.0f} s")
            elif not ended:
                time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _meaning(self, error: BaseException) -> LinkLostError | HostRefusedError:
        """What an error of the client means: worth another try, worth patience, or neither."""
        code = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 0
        if isinstance(error, AuthenticationError) or code == HTTPStatus.UNAUTHORIZED:
            return HostRefusedError(f"{self.label} asks for its key: put it into {self._variable}")
        if code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return self._too_large()
        if isinstance(error, QueueError | TooManyRequestsError) or code == HTTPStatus.TOO_MANY_REQUESTS:
            return SpaceBusyError(f"{self.label} is busy: its queue is full")
        return self._other_meaning(error, code)

    def _too_large(self) -> FileRefusedError:
        return FileRefusedError(f"{self.label} takes no file of this size: raise its --most-mib")

    def _other_meaning(self, error: BaseException, code: int) -> LinkLostError | HostRefusedError:
        told = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, CancelledError):
            return LinkLostError(f"{self.label} was lost while it answered")
        if isinstance(error, AppError):
            return LinkLostError(f"{self.label} failed ({told}): its log says why")
        if HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR:
            return HostRefusedError(f"{self.label} refuses the call ({told})")
        return LinkLostError(f"{self.label} does not answer ({told}): start it, or correct execution.service.url")


def upload(path: Path) -> object:
    """A file as the parameter of a call."""
    return handle_file(str(path))


@cache
def _certificates() -> Any:
    """One for all requests: the client would read every authority's certificate anew for each, which takes 25 ms."""
    return httpx.create_ssl_context()


def _queued(job: "Job") -> bool:
    """Whether the space has not begun with the call, which is no sign of death."""
    return job.status().code.name in {"IN_QUEUE", "JOINING_QUEUE", "QUEUE_FULL"}
