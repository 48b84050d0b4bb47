"""A service as a user starts it: in a folder of its own, by the command, with a small prefect.yaml."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from bigcodeflow.prefect_service.folder import ServiceFolder, ServiceRecord
from bigcodeflow.prefect_service.processes import ProcessIdentity, end

T = TypeVar("T")

#: Writes where it runs, logs to a library's logger, and sleeps for some time or until it is woken.
FLOW = """
import logging
import time
from pathlib import Path

from prefect import flow


@flow(name="nap")
def nap(seconds: float = 0.0, inside: bool = False) -> None:
    if inside:
        nap(seconds)
        return
    Path("napping").write_text(str(Path.cwd()))
    logging.getLogger("bigcodeflow.naps").warning("heard by the library")
    end = time.monotonic() + seconds
    while time.monotonic() < end and not Path("awake").exists():
        time.sleep(0.2)
"""

DEPLOYMENTS = """
pull: []
deployments:
  - name: nap
    entrypoint: naps.nap
    work_pool:
      name: bigcodeflow
      work_queue_name: execution
      job_variables:
        working_dir: "{{ $PWD }}"
    schedules:
      - slug: yearly
        cron: "0 0 1 1 *"
        timezone: UTC
        active: false
"""


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def wait_for(look: Callable[[], T], what: str, seconds: float = 600.0) -> T:
    """The first true result."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.2)
    return found


class Service:
    """One project folder with its service."""

    def __init__(self, project: Path, **variables: str) -> None:
        self.project = project
        self.variables = variables
        self.port = free_port()
        self.file = project / "prefect.yaml"
        project.mkdir(parents=True, exist_ok=True)
        (project / "naps.py").write_text(FLOW)
        self.file.write_text(DEPLOYMENTS)

    def begin(self, command: str, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command of the product and go on."""
        program = Path(sys.executable).with_name("bigcodeflow")
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
        return subprocess.Popen(
            [program, command, *arguments],
            cwd=self.project,
            env=variables | self.variables | {"COLUMNS": "160", "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begin_up(self, *arguments: str) -> "subprocess.Popen[str]":
        return self.begin("up", "--port", str(self.port), "--deployments", "prefect.yaml", *arguments)

    def call(self, command: str, *arguments: str, code: int = 0) -> str:
        """What a command says, on both streams."""
        return finished(self.begin(command, *arguments), code=code)

    def up(self, *arguments: str, code: int = 0) -> str:
        return finished(self.begin_up(*arguments), code=code)

    @property
    def folder(self) -> ServiceFolder:
        return ServiceFolder(self.project / ".bigcodeflow")

    @property
    def record(self) -> ServiceRecord:
        return self.folder.read()

    def processes(self) -> list[ProcessIdentity]:
        """Every process that the service started, and theirs."""
        return list(self.record.processes()) if self.folder.exists else []

    def kill(self) -> None:
        """Leave nothing behind, whatever became of the test."""
        end(self.processes(), patience_seconds=0)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        password = self.variables.get("PREFECT_SERVER_API_AUTH_STRING")
        auth = tuple(password.split(":")) if password else None
        url = self.record.settings.api_url + path
        request = partial(httpx2.request, method, url, json=body, auth=auth, timeout=60, trust_env=False)
        # A server whose database is busy refuses and does nothing; Prefect's own clients ask again as well.
        while (response := request()).status_code == httpx2.codes.SERVICE_UNAVAILABLE:
            time.sleep(0.2)
        return response.json() if response.raise_for_status().content else None

    def trigger(self, name: str = "nap/nap", **parameters: Any) -> str:
        """Id of a new run of a deployment."""
        deployment = self.ask("GET", f"/deployments/name/{name}")
        run = self.ask("POST", f"/deployments/{deployment['id']}/create_flow_run", {"parameters": parameters})
        return str(run["id"])

    def state(self, run: str) -> str:
        return str(self.ask("GET", f"/flow_runs/{run}")["state_type"])

    def wait_for_state(self, run: str, state: str) -> None:
        wait_for(lambda: self.state(run) == state, f"run {run} to be {state}")

    def log_of(self, run: str) -> list[str]:
        """What the run's page shows as its log."""
        found = self.ask("POST", "/logs/filter", {"logs": {"flow_run_id": {"any_": [run]}}})
        return [line["message"] for line in found]

    def napping(self, *, inside: bool = False) -> str:
        """Id of a run that is inside its flow, and stays there until it is woken."""
        for name in ("napping", "awake"):
            (self.project / name).unlink(missing_ok=True)
        run = self.trigger(seconds=3600.0, inside=inside)
        wait_for((self.project / "napping").exists, "the flow to begin")
        self.wait_for_state(run, "RUNNING")
        return run

    def wake(self) -> None:
        """Let the flow end."""
        (self.project / "awake").touch()

    def flow_processes(self) -> list[ProcessIdentity]:
        """Processes of flow runs."""
        return [one for one, variables in self.record.processes().items() if "PREFECT__FLOW_RUN_ID" in variables]


def finished(process: "subprocess.Popen[str]", *, code: int = 0) -> str:
    """What a command said before it ended with this exit code, without a traceback."""
    said, complained = process.communicate(timeout=600)
    assert process.returncode == code, said + complained
    assert "Traceback" not in complained
    return said + complained
