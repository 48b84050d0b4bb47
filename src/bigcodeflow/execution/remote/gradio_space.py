"""Calls of a Gradio space's endpoints, as the original evaluator's has them, with errors in this project's terms."""

import os
from concurrent.futures import CancelledError
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from bigcodeflow.config import ServiceConfig
from bigcodeflow.execution.remote.transports import HostLostError, HostRefusedError

# Read by the client when it is made: nothing is reported to anybody.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import httpx
from gradio_client import Client, handle_file  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError, AuthenticationError  # type: ignore[import-untyped]
from gradio_client.utils import QueueError, TooManyRequestsError  # type: ignore[import-untyped]
from huggingface_hub.errors import HfHubHTTPError

#: A space that sends nothing for so long is taken for dead.
_SILENCE_SECONDS = 60.0
_CONNECT_SECONDS = 10.0

#: What the client raises where a space cannot be reached, does not answer, or answers what is no answer.
_ERRORS = (httpx.HTTPError, httpx.InvalidURL, HfHubHTTPError, OSError, ValueError, QueueError, TooManyRequestsError)


class SpaceBusyError(HostLostError):
    """The space's queue is full; the same call may be let in later."""


class Space:
    """A session with a space; used for one call at a time."""

    def __init__(self, service: ServiceConfig) -> None:
        """Connect.

        Raises:
            HostLostError: the space does not answer.
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
                httpx_kwargs={"timeout": httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)},
            )
        except _ERRORS as error:
            raise self._meaning(error) from error

    def parameters(self, endpoint: str) -> frozenset[str]:
        """Names of the parameters of an endpoint, such as /predict.

        Raises:
            HostRefusedError: the space has no such endpoint.
        """
        described = self._client.view_api(return_format="dict", print_info=False)
        found = described["named_endpoints"].get(endpoint) if isinstance(described, dict) else None
        if found is None:
            raise HostRefusedError(f"{self.label} has no endpoint {endpoint}: is this the right space?")
        return frozenset(parameter["parameter_name"] for parameter in found["parameters"])

    def result(self, endpoint: str, timeout_seconds: float, **parameters: object) -> object:
        """What an endpoint returns.

        Raises:
            HostLostError: it does not.
            HostRefusedError: it will not, however often it is asked.
        """
        try:
            return self._client.submit(api_name=endpoint, **parameters).result(timeout=timeout_seconds)
        except TimeoutError:
            raise HostLostError(f"{self.label} gave no answer within {timeout_seconds:g} s") from None
        except (*_ERRORS, CancelledError) as error:
            raise self._meaning(error) from error

    def close(self) -> None:
        """End the session."""
        self._client.close()

    def _meaning(self, error: BaseException) -> HostLostError | HostRefusedError:
        """What an error of the client means: worth another try, worth patience, or neither."""
        code = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 0
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, AuthenticationError) or code == HTTPStatus.UNAUTHORIZED:
            return HostRefusedError(f"{self.label} asks for its key: put it into {self._variable}")
        if isinstance(error, QueueError | TooManyRequestsError) or code == HTTPStatus.TOO_MANY_REQUESTS:
            return SpaceBusyError(f"{self.label} is busy: its queue is full")
        if isinstance(error, CancelledError):
            return HostLostError(f"{self.label} was lost while it answered")
        if isinstance(error, AppError):
            return HostLostError(f"{self.label} failed ({reason}): its log says why")
        if HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR:
            return HostRefusedError(f"{self.label} refuses the call ({reason})")
        return HostLostError(f"{self.label} does not answer ({reason}): start it, or correct execution.service.url")


def upload(path: Path) -> Any:
    """A file as the parameter of a call."""
    return handle_file(str(path))


@cache
def _certificates() -> Any:
    """One for all requests: the client would read every authority's certificate anew for each, which takes 25 ms."""
    return httpx.create_ssl_context()
