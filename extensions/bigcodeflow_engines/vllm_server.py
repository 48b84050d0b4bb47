"""Start a vLLM server for one run in the engine's environment, wait until it is ready, and end it after the run.

The server listens on the loopback address. `workers/vllm_server.py` kills its process group if this process dies.
"""

# ruff: noqa: ARG002 (every engine has the same signatures)

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.local_engines import ServerEngine
from bigcodeflow.generation.model_api import Reply, Request, RequestError
from bigcodeflow.generation.model_settings import endpoint_of
from bigcodeflow.generation.providers import Endpoint
from bigcodeflow.generation.providers.chat_completions import OpenAIProvider
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow_engines import offline, workers

_POLL_SECONDS = 0.5
#: Time for a server to end after SIGTERM before it is killed.
_END_SECONDS = 20.0


def _ended(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Return a message that says how the server ended; empty while the server runs."""
    status = process.poll()
    if status is None:
        return ""
    with log.open("rb") as printed:
        lines = [line.strip() for line in offline.printed_end(printed).splitlines() if line.strip()]
    telling = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "")
    words = f"; it said: {telling[-300:]}" if telling else ""
    return f"vLLM's server ended with status {status}{words}; its log: {log}"


def _arguments(config: GenerationConfig, environment: InstalledEnvironment, port: int) -> list[str]:
    settings, name = config.offline, config.model.partition(":")[2]
    values: dict[str, object] = {
        "model": offline.folder_or_repository(name, "generation.model"),
        "served-model-name": name,
        "host": "127.0.0.1",
        "port": port,
        "tensor-parallel-size": settings.tensor_parallel,
        "dtype": settings.dtype,
        "revision": settings.revision,
        "tokenizer": offline.folder_or_repository(settings.tokenizer, "generation.offline.tokenizer"),
        "max-model-len": settings.max_model_tokens,
        "max-num-seqs": settings.batch_size,
    }
    if not environment.name.endswith("-cpu"):
        values["gpu-memory-utilization"] = settings.memory_share
    given = [text for option, value in values.items() if value for text in (f"--{option}", str(value))]
    return given + (["--trust-remote-code"] if settings.trust_remote_code else [])


def _wait(port: int, ended: Callable[[], str], report: Callable[[str], None], log: Path) -> None:
    began = time.monotonic()
    while not _healthy(port):
        if how := ended():
            raise GenerationError(f"{how}: correct generation.offline or the model's name, or read the log")
        report(f"vLLM's server loads the model, {time.monotonic() - began:.0f} s so far; its log: {log}")
        time.sleep(_POLL_SECONDS)


def _healthy(port: int) -> bool:
    with suppress(httpx2.HTTPError):
        return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=5.0, trust_env=False).is_success
    return False


class VllmServerProvider(OpenAIProvider):
    """Provider for the vLLM server that is started for the run; `problems` and `notes` work before the server runs."""

    address = "http://127.0.0.1:8000/v1"

    def __init__(self, endpoint: Endpoint, ended: Callable[[], str] = lambda: "") -> None:
        """Open the connections; ``ended`` returns how the server ended, or an empty text while it runs."""
        super().__init__(endpoint)
        self._ended = ended

    async def ask(self, request: Request) -> Reply:
        """Ask the server; if the server has ended, raise a RequestError of kind 'ended', which is not retried."""
        try:
            return await super().ask(request)
        except RequestError as error:
            if error.kind == "connection" and (how := self._ended()):
                raise RequestError("ended", how) from None
            raise


class VllmServerEngine(ServerEngine):
    several_answers = True
    provider = VllmServerProvider

    def problems(self, config: GenerationConfig, request: Request) -> Iterable[str]:
        if config.base_url:
            yield "generation.base_url: vllm-server starts the server itself; for a running server, take openai:MODEL"
        if config.offline.lora:
            yield "generation.offline.lora: vllm-server supports no LoRA adapter; set generation.model to vllm:MODEL"

    @contextmanager
    def served(
        self, config: GenerationConfig, folder: Path, report: Callable[[str], None]
    ) -> Iterator[Callable[[], VllmServerProvider]]:
        """Start a server for the configured model, and end all its processes after the block.

        Raises:
            GenerationError: the server cannot be started, or ended before it was ready.
        """
        # The key is random, so that other users of the machine cannot use the server.
        environment, key = offline.engine_environment(config, "vllm"), secrets.token_hex(16)
        program, log = Path(workers.__file__).with_name("vllm_server.py"), folder / "vllm-server.log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        arguments = _arguments(config, environment, port)
        variables = offline.engine_variables(environment, allow_download=config.offline.download)
        options: dict[str, Any] = {"env": {**variables, "VLLM_API_KEY": key}}
        with (
            log.open("wb") as printed,
            offline.engine_process(environment, program, *arguments, stdout=printed, **options) as process,
        ):
            ended = partial(_ended, process, log)
            try:
                _wait(port, ended, report, log)
                endpoint = replace(endpoint_of(config), base_url=f"http://127.0.0.1:{port}/v1", api_key=key)
                yield partial(VllmServerProvider, endpoint, ended)
            finally:  # SIGTERM first, so that it can free shared resources
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_SECONDS)
