"""A Prefect server, a work pool and a worker as processes of their own, and the runs that they take up.

The server's records lie in SQLite, or with BIGCODEFLOW_TEST_DATABASE=postgresql in PostgreSQL.
"""

import os
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

from tests.flows.observed import kind_of
from tests.prefect_service.postgresql import postgresql_server
from tests.prefect_service.services import free_port, wait_for

ROOT = Path(__file__).parents[2]
#: A loaded machine in CI takes several times longer than a quiet one.
COMMAND_SECONDS = 240.0
RUN_SECONDS = 600.0
_POOL = "bigcodeflow"
_ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


class Service:
    """What serves runs below one folder; nothing is read from or left in the user's own.

    The server is Prefect's own or, where forms are checked, the one of `bigcodeflow up`.
    """

    def __init__(self, folder: Path, *, checks_forms: bool = False) -> None:
        self.folder, self._checks_forms = folder, checks_forms
        self._database = ExitStack()
        self.address = f"http://127.0.0.1:{free_port()}"
        # Longer than the server waits for its database.
        self.api = httpx.Client(base_url=f"{self.address}/api", timeout=COMMAND_SECONDS)
        self.variables = os.environ | {
            "DO_NOT_TRACK": "1",
            "PREFECT_API_URL": f"{self.address}/api",
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_LOGGING_EXTRA_LOGGERS": "bigcodeflow",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            # Where the machine is busy, waiting for SQLite is better than an answer of 503.
            "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "60",
            "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
            "PREFECT_WORKER_QUERY_SECONDS": "2",
            "PWD": str(folder),
        }
        if os.environ.get("BIGCODEFLOW_TEST_DATABASE") == "postgresql":
            url = self._database.enter_context(postgresql_server())
            self.variables["PREFECT_SERVER_DATABASE_CONNECTION_URL"] = url.replace("://", "+asyncpg://")
        self.server: subprocess.Popen[bytes] | None = None
        self.worker: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start_server()
            self.prefect("work-pool", "create", _POOL, "--type", "process")
            names = ["benchmark", "sweep", *(("ask-a-model", "judge-samples", "sweep-models") * self._checks_forms)]
            chosen = [word for name in names for word in ("--name", name)]
            self.prefect("deploy", "--prefect-file", str(ROOT / "prefect.yaml"), *chosen, "--no-prompt")
            self.start_worker()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self.worker, self.server):
            if process and process.poll() is None:
                process.terminate()
                try:
                    process.wait(60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self.api.close()
        self._database.close()

    def start_server(self) -> None:
        """Start it, on the database that it had, and wait until it answers."""
        port = self.address.rpartition(":")[2]
        own = ("prefect", "server", "start", "--host", "127.0.0.1", "--port", port)
        module = ("flows.form_server", "127.0.0.1", port) if self._checks_forms else own
        self.server = self._process("server", *module)
        wait_for(self._healthy, "the server", COMMAND_SECONDS)

    def start_worker(self) -> None:
        """Start one for the pool."""
        self.worker = self._process("worker", "prefect", "worker", "start", "--pool", _POOL)

    def prefect(self, *arguments: str) -> str:
        """What Prefect's command line prints."""
        command = [sys.executable, "-m", "prefect", *arguments]
        options = {"cwd": self.folder, "env": self.variables, "timeout": COMMAND_SECONDS}
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def get(self, path: str) -> Any:
        """A resource of the server."""
        return self.asked("GET", path).json()

    def post(self, path: str, **content: Any) -> Any:
        """Ask the server for something, or to do it."""
        return self.asked("POST", path, json=content).json()

    def deployment(self, name: str = "benchmark/benchmark") -> dict[str, Any]:
        """A registered deployment."""
        return self.get(f"/deployments/name/{name}")

    def run(self, config: dict[str, Any], deployment: str = "benchmark/benchmark") -> "ServedRun":
        """Start a run of a deployment, as the UI does."""
        made = self.post(
            f"/deployments/{self.deployment(deployment)['id']}/create_flow_run",
            parameters={"config": config},
            state={"type": "SCHEDULED", "state_details": {}},
        )
        return ServedRun(self, made["id"])

    def asked(self, method: str, path: str, **more: Any) -> httpx.Response:
        """The server's answer; asked again, as Prefect's own clients do, while the server is too busy to give one."""

        def ask() -> httpx.Response | None:
            answer = self.api.request(method, path, **more)
            return None if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE else answer

        return wait_for(ask, f"an answer to {method} {path}", COMMAND_SECONDS).raise_for_status()

    def _healthy(self) -> bool:
        if self.server is None or self.server.poll() is not None:
            raise RuntimeError((self.folder / "server.log").read_text()[-2000:])
        try:
            return self.api.get("/health", timeout=2).is_success
        except httpx.HTTPError:
            return False

    def _process(self, name: str, *module: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("ab") as log:
            command = [sys.executable, "-m", *module]
            streams = {"stdout": log, "stderr": subprocess.STDOUT}
            return subprocess.Popen(command, cwd=self.folder, env=self.variables, start_new_session=True, **streams)


class ServedRun:
    """One run on the service."""

    def __init__(self, service: Service, run_id: str) -> None:
        self.service, self.id = service, run_id

    @property
    def state(self) -> dict[str, Any]:
        """Type, name and message of its present state."""
        return self.service.get(f"/flow_runs/{self.id}")["state"]

    def ended(self, *expected: str, seconds: float = RUN_SECONDS) -> dict[str, Any]:
        """Its state once it has ended; one of the expected types where any are named, else its log is shown."""
        wait_for(lambda: self.state["type"] in _ENDED, f"the end of run {self.id}", seconds)
        state = self.state
        if expected and state["type"] not in expected:
            worker = (self.service.folder / "worker.log").read_text()[-3000:]
            raise AssertionError("\n".join([f"{state['name']}: {state['message']}", *self.log(), worker]))
        return state

    def cancel(self) -> None:
        """What the UI's button does."""
        self.service.post(f"/flow_runs/{self.id}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})

    def retry(self) -> None:
        """What the UI's button does: have the worker take it up again."""
        awaiting = {"type": "SCHEDULED", "name": "AwaitingRetry", "message": "Retry from the UI"}
        self.service.post(f"/flow_runs/{self.id}/set_state", state=awaiting)

    def reported_crashed(self) -> None:
        """Wait until the worker has reported the crash after the runner did: a retry before would be crushed by it."""
        wait_for(lambda: any(line.startswith("Check whether") for line in self.log()), "the worker's report")

    def log(self) -> list[str]:
        """Its messages, oldest first."""
        content = {"logs": {"flow_run_id": {"any_": [self.id]}}, "sort": "TIMESTAMP_ASC", "limit": 200}
        return [line["message"] for line in self.service.post("/logs/filter", **content)]

    def artifacts(self) -> dict[str, str]:
        """Ids of what the run shows, by kind."""
        found = self.service.post("/artifacts/filter", artifacts={"flow_run_id": {"any_": [self.id]}})
        return {kind: artifact["id"] for artifact in found if (kind := kind_of(artifact["key"]))}

    def processes(self) -> "Processes":
        """Those of the run as they are now."""
        return Processes.of_run(self.id)


class Processes(list[psutil.Process]):
    """Processes, of which psutil takes none for another one that has the same id later."""

    @classmethod
    def of_run(cls, run_id: str) -> "Processes":
        """The run's own process, which carries its id, and everything below it."""
        found: set[psutil.Process] = set()
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("PREFECT__FLOW_RUN_ID") == run_id:
                    found |= {process, *process.children(recursive=True)}
        return cls(found)

    def alive(self) -> dict[psutil.Process, str]:
        """Command lines of those that still run."""
        found = {}
        for process in self:
            with suppress(psutil.NoSuchProcess):
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    found[process] = " ".join(process.cmdline())
        return found

    def named(self, text: str) -> list[psutil.Process]:
        """Those with a text in their command lines."""
        return [process for process, command in self.alive().items() if text in command]
