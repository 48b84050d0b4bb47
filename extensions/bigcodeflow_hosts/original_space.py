"""Client of the original evaluator's Gradio space: sends a sample file, and writes the original's two result files.

The space judges whole files, with its own sandbox and libraries; `bigcodeflow import` makes a run from its files.
"""

import json
import logging
import os
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from functools import cache
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError
from tenacity import wait_fixed

from bigcodeflow.config import ServiceConfig
from bigcodeflow.core.errors import ConfigError, ExecutionError, SamplesError, error_message
from bigcodeflow.core.files import write_atomically
from bigcodeflow.judge.remote.backend import HostLostError, HostRefusedError, Patience, repeated

# gradio_client reads this when it is imported: it then sends no usage data to its makers.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import httpx
from gradio_client import Client, handle_file  # type: ignore[import-untyped]
from gradio_client.exceptions import AppError, AuthenticationError  # type: ignore[import-untyped]
from gradio_client.utils import QueueError, TooManyRequestsError  # type: ignore[import-untyped]
from huggingface_hub.errors import HfHubHTTPError

_ENDPOINT = "/predict"
_CHECK_URL = "check that execution.service.url is the original evaluator's space"
_MAX_LOSSES = 3
_SECONDS_BETWEEN_ATTEMPTS = 4.0
#: A space that sends nothing for this long counts as dead.
_SILENCE_SECONDS = 60.0
_CONNECT_SECONDS = 10.0
#: Parameters of the original evaluator's endpoint, with its defaults; limits are in seconds and MiB.
PARAMETERS: Mapping[str, Any] = MappingProxyType(
    {
        "split": "complete",
        "subset": "full",
        "pass_k": "1,5,10",
        "parallel": -1,  # programs at the same time; -1 leaves the number to the space
        "min_time_limit": 1.0,
        "max_as_limit": 30 * 1024,
        "max_data_limit": 30 * 1024,
        "max_stack_limit": 10,
        "calibrated": True,
        "check_gt_only": False,  # True executes no sample
        "no_gt": False,  # True executes no ground truths
        "selective_evaluate": "",  # numbers of tasks, such as 0,1,12; empty takes all
    }
)
#: Errors of the client if a space cannot be reached, does not answer, or sends an invalid answer.
_ERRORS = (httpx.HTTPError, httpx.InvalidURL, HfHubHTTPError, OSError, ValueError, QueueError, TooManyRequestsError)
#: One SSL context for all requests: else the client reads all CA certificates each time, for 25 ms.
_certificates = cache(httpx.create_ssl_context)


class SpaceBusyError(HostLostError):
    """The space's queue is full; the same call may be accepted later."""


class _SampleResult(BaseModel):
    status: Literal["pass", "fail", "timeout"]


class _Results(BaseModel):
    """Results of a whole sample file, as the space returns them."""

    date: str
    eval: dict[str, Annotated[list[_SampleResult], Field(min_length=1)]] = Field(min_length=1)


def results_of_space(service: ServiceConfig, samples: Path, folder: Path, **parameters: Any) -> Path:
    """Let a space judge a sample file, write the original's two result files, and return the path of the verdicts.

    ``parameters`` replace the defaults in PARAMETERS.
    """
    asked = {**PARAMETERS, **parameters}
    if not samples.is_file():
        raise SamplesError(f"{samples}: there is no such sample file: give a JSONL or JSONL.gz file")
    deadline = time.monotonic() + service.timeout_seconds
    try:  # a lost space a few times, a busy space until the deadline
        results, scores = repeated(
            lambda: _ask(service, samples, asked, deadline),
            stop=Patience(deadline, _MAX_LOSSES, lambda error: not isinstance(error, SpaceBusyError)),
            wait=wait_fixed(_SECONDS_BETWEEN_ATTEMPTS),
            level=logging.WARNING,
        )
    except HostRefusedError as error:
        raise ExecutionError(str(error)) from error
    except HostLostError as error:
        raise ExecutionError(f"{error}; nothing was imported, try again later") from error
    try:  # half a result would be scored as if the rest had failed
        _Results.model_validate(results)
    except ValidationError:
        raise ExecutionError(
            f"space {service.url} returned invalid results: see its log; try again, or use `bigcodeflow evaluate`"
        ) from None
    stem = samples.name.removesuffix(".gz").removesuffix(".jsonl")
    # Fields that the original adds to the scores when it writes them.
    written = {"model": stem.partition("--bigcodebench")[0]}
    written |= {name: asked[name] for name in ("split", "subset", "calibrated")}
    written |= scores if isinstance(scores, Mapping) else {}
    if asked["no_gt"]:  # the space then says that all of them failed, or none
        written = {name: value for name, value in written.items() if name not in {"gt_pass_rate", "failed_tasks"}}
    write_atomically(folder / f"{stem}_pass_at_k.json", json.dumps(written, indent=2).encode())
    return write_atomically(folder / f"{stem}_eval_results.json", json.dumps(results).encode())


def _ask(service: ServiceConfig, samples: Path, asked: Mapping[str, Any], deadline: float) -> tuple[Any, Any]:
    """Call the endpoint once, and return results and scores; raise HostLostError if another attempt may succeed."""
    label = f"space {service.url}"
    key = os.environ.get(service.key_variable, "")
    client = None
    try:
        client = Client(
            service.url,
            # The client would send the hub's token to any address, but it is for the hub only.
            token=False if "://" in service.url else None,
            headers={"Authorization": f"Bearer {key}"} if key else None,
            max_workers=1,
            download_files=False,
            verbose=False,
            ssl_verify=_certificates(),
            analytics_enabled=False,
            httpx_kwargs={"timeout": httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)},
        )
        known = _known_settings(client, asked, label)
        call = client.submit(api_name=_ENDPOINT, samples=handle_file(str(samples)), **known)
        answer = call.result(timeout=deadline - time.monotonic())
    except TimeoutError:
        raise HostLostError(
            f"{label} gave no answer within execution.service.timeout_seconds ({service.timeout_seconds:g} s)"
        ) from None
    except (*_ERRORS, CancelledError) as error:
        raise _meaning_of(error, label, service.key_variable) from error
    finally:
        if client:
            client.close()
    if not isinstance(answer, tuple | list) or len(answer) != len(("results", "scores")):
        raise ExecutionError(f"{label} returned no results and scores: {_CHECK_URL}")
    return answer[0], answer[1]


def _known_settings(client: Client, asked: Mapping[str, Any], label: str) -> dict[str, object]:
    """Return the settings of ``asked`` that the space knows; raise ConfigError if another is not at its default."""
    described = client.view_api(return_format="dict", print_info=False)
    endpoint = described["named_endpoints"].get(_ENDPOINT) if isinstance(described, dict) else None
    if endpoint is None:
        raise HostRefusedError(f"{label} has no endpoint {_ENDPOINT}: {_CHECK_URL}")
    taken = {parameter["parameter_name"] for parameter in endpoint["parameters"]}
    # Older spaces know fewer settings; they would ignore an unknown setting without an error.
    lost = [name for name, value in asked.items() if name not in taken and value != PARAMETERS[name]]
    if lost or "samples" not in taken:
        raise ConfigError(f"{label} does not accept {', '.join(lost) or 'samples'}: choose another space")
    return {name: value for name, value in asked.items() if name in taken}


def _meaning_of(error: BaseException, label: str, key_variable: str) -> HostLostError | HostRefusedError:
    """Convert an error of gradio_client: to HostRefusedError if another call would fail too, else to HostLostError."""
    code = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 0
    reason = error_message(error)
    if isinstance(error, AuthenticationError) or code == HTTPStatus.UNAUTHORIZED:
        return HostRefusedError(f"{label} needs a key: put it into {key_variable}")
    if isinstance(error, QueueError | TooManyRequestsError) or code == HTTPStatus.TOO_MANY_REQUESTS:
        return SpaceBusyError(f"{label} is busy: its queue is full")
    if isinstance(error, CancelledError):
        return HostLostError(f"the connection to {label} was lost before it answered")
    if isinstance(error, AppError):
        return HostLostError(f"{label} failed ({reason}): see its log")
    if HTTPStatus.BAD_REQUEST <= code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return HostRefusedError(f"{label} refuses the call ({reason})")
    return HostLostError(f"{label} does not answer ({reason}): start it, or correct execution.service.url")
