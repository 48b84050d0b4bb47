"""Requests of the service to its Prefect server, over HTTP: importing Prefect for its client would take seconds."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import yaml

import bigcodeflow
from bigcodeflow.core.errors import ConfigError, ServiceError, error_message

POOL = "bigcodeflow"
#: Its runs execute samples on all cores.
_QUEUE = "execution"
_UNFINISHED = ("RUNNING", "PENDING", "CANCELLING")
_PAGE = 200
_BUSY_SECONDS = 60.0
_DEPLOY_SECONDS = 300


class Schedule(NamedTuple):
    """A schedule as the server has it."""

    deployment: str
    slug: str
    active: bool
    deployment_id: str
    id: str


class PrefectServer(httpx2.Client):
    """A client of one server's API."""

    def __init__(self, api_url: str) -> None:
        user, _, password = os.environ.get("PREFECT_SERVER_API_AUTH_STRING", "").partition(":")
        # A proxy would be asked for a server on this machine.
        super().__init__(base_url=api_url, timeout=60.0, auth=(user, password) if user else None, trust_env=False)
        self.api_url = api_url

    def home(self) -> str | None:
        """Home folder of the server that answers at this address; None while none does."""
        try:
            healthy = self.get("/health", timeout=5.0)
            found = self.get("/admin/settings", timeout=5.0)
            if found.status_code == HTTPStatus.UNAUTHORIZED:
                raise ServiceError(
                    f"the Prefect server at {self.api_url} asks for a password: "
                    "export PREFECT_SERVER_API_AUTH_STRING=USER:PASSWORD as for its start"
                )
            return str(found.raise_for_status().json()["home"]) if healthy.json() is True else None
        except (httpx2.HTTPError, ValueError, KeyError, TypeError):  # not yet, or another program's server
            return None

    def make_pool(self, *, execution_runs: int | None) -> None:
        """Create what is absent; unless a number is given, a limit that a user changed in the UI stays as it is."""
        self._create("/work_pools/", POOL, {"type": "process", "description": "bigcodeflow's own runs"})
        queues, described = f"/work_pools/{POOL}/queues", "runs that execute samples, and so take all cores"
        created = self._create(queues, _QUEUE, {"description": described, "concurrency_limit": execution_runs or 2})
        if execution_runs and not created:
            self._send("PATCH", f"{queues}/{_QUEUE}", {"concurrency_limit": execution_runs})
        # For `generation.requests.shared_limit`; as large as the default of one run's `concurrency`.
        self._create("/v2/concurrency_limits/", "model-requests", {"limit": 64, "active": True})

    def execution_runs(self) -> int | None:
        """How many runs may execute samples at once; None: any number."""
        limit: int | None = self._send("GET", f"/work_pools/{POOL}/queues/{_QUEUE}")["concurrency_limit"]
        return limit

    def pool_paused(self) -> bool:
        """Whether no runs are delivered."""
        return bool(self._send("GET", f"/work_pools/{POOL}")["is_paused"])

    def pause_pool(self, *, paused: bool) -> None:
        """Stop or resume the delivery of runs."""
        self._send("PATCH", f"/work_pools/{POOL}", {"is_paused": paused})

    def worker_online(self, name: str) -> bool:
        """Whether the server has heard of this worker of late."""
        found = self._send("POST", f"/work_pools/{POOL}/workers/filter", {})
        return any(worker["name"] == name and worker["status"] == "ONLINE" for worker in found)

    def deployments(self) -> list[dict[str, Any]]:
        """Every deployment of the pool, with its schedules."""
        return self._pages("/deployments/filter", {"work_pools": {"name": {"any_": [POOL]}}})

    def schedules(self) -> list[Schedule]:
        """Every schedule of every deployment."""
        return [
            Schedule(one["name"], found["slug"] or found["id"], bool(found["active"]), one["id"], found["id"])
            for one in self.deployments()
            for found in one["schedules"]
        ]

    def set_schedule(self, schedule: Schedule, *, active: bool) -> None:
        """Switch a schedule on or off."""
        self._send("PATCH", f"/deployments/{schedule.deployment_id}/schedules/{schedule.id}", {"active": active})

    def unfinished_runs(self, worker: str) -> list[dict[str, Any]]:
        """Runs that a worker took up and that have not ended as far as the server knows."""
        chosen = {"work_pools": {"name": {"any_": [POOL]}}, "flow_runs": {"state": {"type": {"any_": _UNFINISHED}}}}
        runs = self._pages("/flow_runs/filter", chosen)
        return [run for run in runs if (run.get("labels") or {}).get("prefect.worker.name") == worker]

    def unfinished_subflows(self, run_ids: Iterable[str]) -> list[dict[str, Any]]:
        """Runs that these runs started inside their own process and that have not ended."""
        chosen = {"parent_flow_run_id": {"any_": list(run_ids)}, "state": {"type": {"any_": _UNFINISHED}}}
        return self._pages("/flow_runs/filter", {"flow_runs": chosen})

    def set_state(self, run_id: str, kind: str, message: str, *, force: bool = False) -> None:
        """Propose a state for a run, or enforce it."""
        state = {"type": kind, "name": kind.capitalize(), "message": message}
        self._send("POST", f"/flow_runs/{run_id}/set_state", {"state": state, "force": force})

    def _pages(self, path: str, chosen: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            page = self._send("POST", path, {**chosen, "limit": _PAGE, "offset": len(found)})
            found.extend(page)
            if len(page) < _PAGE:
                return found

    def _create(self, path: str, name: str, body: dict[str, Any]) -> bool:
        """Whether it was created; False where it is there already."""
        if self._send("GET", f"{path.rstrip('/')}/{name}", absent_is_none=True) is not None:
            return False
        self._send("POST", path, {"name": name, **body})
        return True

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None, *, absent_is_none: bool = False) -> Any:
        """The response's content. A server whose database is busy, as at its start, refuses and does nothing."""
        give_up_at = time.monotonic() + _BUSY_SECONDS
        try:
            response = self.request(method, path, json=body)
            while response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and time.monotonic() < give_up_at:
                time.sleep(1.0)
                response = self.request(method, path, json=body)
        except httpx2.HTTPError as error:
            raise ServiceError(
                f"the Prefect server at {self.api_url} stopped answering ({type(error).__name__}: {error}): "
                "run `bigcodeflow up` again; `bigcodeflow status` names its log"
            ) from None
        if absent_is_none and response.status_code == HTTPStatus.NOT_FOUND:
            return None
        if response.is_error:
            raise ServiceError(
                f"the Prefect server at {self.api_url} refused {method} {response.request.url.path}: "
                f"{response.status_code} {response.text[:300]}"
            )
        return response.json() if response.content else None


def deployment_names(file: Path) -> list[str]:
    """Names of a prefect.yaml's deployments, in its order; a ConfigError names a file that cannot be used."""
    try:
        content = yaml.safe_load(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"deployments {file}: {error_message(error)}") from None
    entries = content.get("deployments") if isinstance(content, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry.get("name") for entry in entries):
        raise ConfigError(f"deployments {file}: expected a list `deployments` whose entries have a `name`")
    for entry in entries:
        pool = (entry.get("work_pool") or {}).get("name")
        if pool != POOL:
            raise ConfigError(
                f"deployments {file}: {entry['name']} names the work pool {pool!r}; the worker here serves {POOL!r}"
            )
    return [str(entry["name"]) for entry in entries]


def deployments_fingerprint(file: Path, project: Path, database: str) -> str:
    """Changes with all that is written into the deployments: the file, the code's settings, the working folder."""
    digest = hashlib.sha256()
    for part in (str(project), database, metadata.version("prefect"), bigcodeflow.__version__):
        digest.update(part.encode() + b"\0")
    digest.update(file.read_bytes())
    for package in ("bigcodeflow", "flows"):
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations if spec else None) or ():
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def register_deployments(server: PrefectServer, file: Path, *, project: Path, environment: Mapping[str, str]) -> None:
    """Deploy everything in the file by Prefect's own command; a schedule stays active or inactive as it was."""
    before = {(schedule.deployment, schedule.slug): schedule.active for schedule in server.schedules()}
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(file)]
    try:
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=_DEPLOY_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ServiceError(f"deploying {file} took over {_DEPLOY_SECONDS} s: run `bigcodeflow up` again") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ServiceError(f"{file} cannot be deployed:\n" + "\n".join(f"  {line}" for line in lines[-6:]))
    for schedule in server.schedules():
        server.set_schedule(schedule, active=before.get((schedule.deployment, schedule.slug), schedule.active))
