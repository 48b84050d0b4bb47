"""Start a vLLM server for one run in the engine's environment, wait until it is ready, and end it after the run.

It listens on loopback, in a separate process group that `engines/vllm_server.py` kills when this process is gone.
"""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation import engines, offline
from bigcodeflow.judge.environments import InstalledEnvironment

_POLL_SECONDS = 0.5
#: Time for a server to end after SIGTERM before it is killed.
_END_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class VllmServer:
    address: str
    api_key: str
    """Random key of this server, so that other users of the machine cannot use it."""
    log: Path
    process: "subprocess.Popen[bytes]"

    def ended(self) -> str:
        """Return a message that says how the server ended; empty while it runs."""
        status = self.process.poll()
        if status is None:
            return ""
        with self.log.open("rb") as printed:
            lines = [line.strip() for line in offline.printed_end(printed).splitlines() if line.strip()]
        telling = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "")
        words = f"; it said: {telling[-300:]}" if telling else ""
        return f"vLLM's server ended with status {status}{words}; its log: {self.log}"


@contextmanager
def served(config: GenerationConfig, log: Path, report: Callable[[str], None]) -> Iterator[VllmServer]:
    """Start a server for the configured model, yield it when it is ready, and end all its processes after the block.

    ``report`` is called repeatedly while the model is loading. The output of the server goes to the file ``log``.

    Raises:
        GenerationError: the server cannot be started, or ended before it was ready.
    """
    environment, key = offline.engine_environment(config, "vllm"), secrets.token_hex(16)
    program = Path(engines.__file__).with_name("vllm_server.py")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = _arguments(config, environment, port)
    variables = offline.engine_variables(environment, allow_download=config.offline.download)
    options: dict[str, Any] = {"env": {**variables, "VLLM_API_KEY": key}}
    with (
        log.open("wb") as printed,
        offline.engine_process(environment, program, *arguments, stdout=printed, **options) as process,
    ):
        server = VllmServer(f"http://127.0.0.1:{port}/v1", key, log, process)
        try:
            _wait(server, port, report)
            yield server
        finally:  # SIGTERM first, so that it can free shared resources
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)


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


def _wait(server: VllmServer, port: int, report: Callable[[str], None]) -> None:
    began = time.monotonic()
    while not _healthy(port):
        if ended := server.ended():
            remedy = "correct generation.offline or the model's name"
            raise GenerationError(f"{ended}: {remedy}, or look at the log")
        report(f"vLLM's server loads the model, {time.monotonic() - began:.0f} s so far; its log: {server.log}")
        time.sleep(_POLL_SECONDS)


def _healthy(port: int) -> bool:
    with suppress(httpx2.HTTPError):
        return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=5.0, trust_env=False).is_success
    return False
