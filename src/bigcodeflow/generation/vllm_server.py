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
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from bigcodeflow.config import GenerationConfig
from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation import engines, offline
from bigcodeflow.judge.environments import InstalledEnvironment

_POLL_SECONDS = 0.5
#: Time for a server to end after SIGTERM before it is killed.
_END_SECONDS = 20.0
_TAIL_BYTES = 20_000


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
        lines = [line.strip() for line in _tail(self.log).splitlines() if line.strip()]
        telling = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "")
        words = f"; it said: {telling[-300:]}" if telling else ""
        return f"vLLM's server ended with status {status}{words}; its log: {self.log}"


def server_problems(config: GenerationConfig) -> list[str]:
    """Return the settings that a server started by this program does not accept, one line each."""
    lines = []
    if config.base_url:
        lines.append("generation.base_url: vllm-server starts the server itself; for one that runs, take openai:MODEL")
    if config.offline.lora:
        lines.append("generation.offline.lora: vllm-server takes none; take vllm:MODEL")
    return lines


@contextmanager
def served(config: GenerationConfig, log: Path, report: Callable[[str], None]) -> Iterator[VllmServer]:
    """Start a server for the configured model, yield it when it is ready, and end all its processes after the block.

    ``report`` is called repeatedly while the model is loading. The output of the server goes to the file ``log``.

    Raises:
        GenerationError: the server cannot be started, or ended before it was ready.
    """
    environment, key = offline.engine_environment(config, "vllm"), secrets.token_hex(16)
    program = Path(engines.__file__).with_name("vllm_server.py")
    port = _free_port()
    command = [str(environment.python), "-s", "-u", str(program), *_arguments(config, environment, port)]
    variables = offline.engine_variables(environment, allow_download=config.offline.download)
    with log.open("wb") as printed:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # the server is killed when this pipe closes
                stdout=printed,
                stderr=subprocess.STDOUT,
                process_group=0,
                env={**variables, "VLLM_API_KEY": key},
            )
        except OSError as error:
            raise GenerationError(
                f"environment {environment.name}: {environment.python} cannot be started ({error.strerror}): "
                f"bigcodeflow env build {environment.name} --rebuild"
            ) from None
    server = VllmServer(f"http://127.0.0.1:{port}/v1", key, log, process)
    try:
        _wait(server, port, report)
        yield server
    finally:
        _end(process)


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


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _wait(server: VllmServer, port: int, report: Callable[[str], None]) -> None:
    began = time.monotonic()
    while not _healthy(port):
        if ended := server.ended():
            remedy = "correct generation.offline or the model's name"
            raise GenerationError(f"{ended}: {remedy}, or look at the log")
        report(f"vLLM's server loads the model, {time.monotonic() - began:.0f} s so far; its log: {server.log}")
        time.sleep(_POLL_SECONDS)


def _healthy(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5.0)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Send SIGTERM to the process group, give it `_END_SECONDS` to free shared resources, then kill it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def _tail(log: Path) -> str:
    with log.open("rb") as printed:
        printed.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        return printed.read().decode(errors="replace")
