"""A worker's process: started in its environment, fed, listened to, and ended with all that it started."""

import json
import os
import re
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.environments import InstalledEnvironment

_CHUNK_BYTES = 1 << 16
_ENDING_SECONDS = 30.0
_TAIL_BYTES = 20_000
#: What an engine needs of our environment. Keys of providers and the like are not among it.
_PASSED_ON = re.compile(
    r"HOME|PATH|USER|LANG|LC_\w+|TMPDIR|TZ|LD_LIBRARY_PATH|XDG_CACHE_HOME|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|"
    r"(https?|no)_proxy|(HTTPS?|NO)_PROXY|(HF|CUDA|NVIDIA|NCCL|VLLM|TORCH|PYTORCH|OMP|MKL|TRITON|ROCR|HIP)_\w+"
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")


class WorkerProcess:
    """One worker and its process group. Used as a context: nothing of it is left behind when the block ends."""

    def __init__(self, program: Path, environment: InstalledEnvironment, *, allow_download: bool) -> None:
        self.may_download = allow_download
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the process
        self._events, theirs = os.pipe()
        try:
            self._process = subprocess.Popen(
                [str(environment.python), "-s", "-u", str(program), str(theirs)],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs,),
                process_group=0,  # of its own: engines start further processes
                env=_variables(environment, allow_download=allow_download),
            )
        except OSError as error:
            os.close(self._events)
            self._log.close()
            raise GenerationError(
                f"environment {environment.name}: {environment.python} cannot be started ({error.strerror}): "
                f"bigcodeflow env build {environment.name} --rebuild"
            ) from None
        finally:
            os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        with suppress(OSError):  # what a dead worker did not read
            self._stdin.close()
        os.close(self._events)
        self._log.close()

    def send(self, messages: Iterable[Any]) -> None:
        """Write messages to the worker; one that died has its reasons told by `events` or `last_words`."""
        with suppress(BrokenPipeError):
            for message in messages:
                self._stdin.write(json.dumps(message).encode() + b"\n")
            self._stdin.flush()

    def events(self) -> Iterator[dict[str, Any]]:
        """What the worker says, whole lines only, until it is silent for good.

        The end of its channel alone would not tell: processes that it forked may hold that open after its death.
        """
        rest = b""
        exited = os.pidfd_open(self._process.pid)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._events, selectors.EVENT_READ)
                selector.register(exited, selectors.EVENT_READ)
                while self._events in [key.fd for key, _ in selector.select()]:
                    chunk = os.read(self._events, _CHUNK_BYTES)
                    if not chunk:
                        return
                    *whole, rest = (rest + chunk).split(b"\n")
                    yield from (json.loads(line) for line in whole)
        finally:
            os.close(exited)

    def let_end(self) -> None:
        """Give an engine that has done its work the time to give back what it shares with others."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_SECONDS)

    def last_words(self) -> str:
        """How the process ended, and the last line that it printed."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING_SECONDS)
        status = self._process.returncode
        if status is not None and status < 0:
            told = f"was killed by {signal.Signals(-status).name}"
            told += ", as the kernel does where memory runs out" if -status == signal.SIGKILL else ""
        else:
            told = "fell silent" if status is None else f"ended with status {status}"
        lines = self.printed().splitlines()
        return f"{told}; its last line: {lines[-1][:300]}" if lines else told

    def printed(self) -> str:
        """The end of what the worker and its engine printed."""
        self._log.seek(max(0, os.fstat(self._log.fileno()).st_size - _TAIL_BYTES))
        return self._log.read().decode(errors="replace").strip()

    @property
    def _stdin(self) -> Any:
        return self._process.stdin


def _variables(environment: InstalledEnvironment, *, allow_download: bool) -> dict[str, str]:
    passed = {
        name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name) and not _SECRET.search(name)
    }
    if allow_download and (token := os.environ.get("HF_TOKEN")):
        passed["HF_TOKEN"] = token
    offline = {} if allow_download else {"HF_HUB_OFFLINE": "1"}
    silent = {"PYTHONNOUSERSITE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    return {**environment.variables, **passed, **offline, **silent}
