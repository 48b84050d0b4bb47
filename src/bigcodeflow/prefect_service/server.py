"""HTTP client for the service's Prefect server; Prefect's own client is not used: its import takes seconds."""

import os
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx2

from bigcodeflow.core.errors import ServiceError

POOL = "bigcodeflow"
#: Work queue for runs that execute samples on all cores.
_QUEUE = "execution"
_UNFINISHED = ("RUNNING", "PENDING", "CANCELLING")
_PAGE = 200
_BUSY_SECONDS = 60.0


class Schedule(NamedTuple):
    """Schedule of a deployment, as the server stores it."""

    deployment: str
    slug: str
    active: bool
    deployment_id: str
    id: str
    entrypoint: str
    parameters: dict[str, Any]
    """Parameters of the deployment, overridden by those of the schedule."""


class PrefectServer(httpx2.Client):
    """HTTP client of a Prefect server's API."""

    def __init__(self, api_url: str) -> None:
        user, _, password = os.environ.get("PREFECT_SERVER_API_AUTH_STRING", "").partition(":")
        # trust_env=False: requests to a server on this machine must not go through a proxy.
        super().__init__(base_url=api_url, timeout=60.0, auth=(user, password) if user else None, trust_env=False)
        self.api_url = api_url

    def home(self) -> str | None:
        """Return the server's home folder (its PREFECT_HOME); None if no Prefect server answers at the address."""
        try:
            healthy = self.get("/health", timeout=5.0)
            found = self.get("/admin/settings", timeout=5.0)
            if found.status_code == HTTPStatus.UNAUTHORIZED:
                raise ServiceError(
                    f"the Prefect server at {self.api_url} asks for a password: "
                    "export PREFECT_SERVER_API_AUTH_STRING=USER:PASSWORD, with the values of the server"
                )
            return str(found.raise_for_status().json()["home"]) if healthy.json() is True else None
        except (httpx2.HTTPError, ValueError, KeyError, TypeError):  # not yet, or another program's server
            return None

    def make_pool(self, *, execution_runs: int | None) -> None:
        """Create the work pool, its queue and the limit of model requests, if they are missing.

        ``execution_runs`` sets the concurrency limit of the queue. None keeps the limit of an existing queue, which a
        user may have set in the UI; a new queue then gets the limit 2.
        """
        self._create("/work_pools/", POOL, {"type": "process", "description": "bigcodeflow's own runs"})
        queues, described = f"/work_pools/{POOL}/queues", "runs that execute samples, and so take all cores"
        created = self._create(queues, _QUEUE, {"description": described, "concurrency_limit": execution_runs or 2})
        if execution_runs and not created:
            self._send("PATCH", f"{queues}/{_QUEUE}", {"concurrency_limit": execution_runs})
        # For `generation.requests.shared_limit`; as large as the default of one run's `concurrency`.
        self._create("/v2/concurrency_limits/", "model-requests", {"limit": 64, "active": True})

    def execution_runs(self) -> int | None:
        """Return the number of runs that may execute samples at the same time; None means no limit."""
        limit: int | None = self._send("GET", f"/work_pools/{POOL}/queues/{_QUEUE}")["concurrency_limit"]
        return limit

    def pool_paused(self) -> bool:
        """Tell if the pool is paused, so that it delivers no runs."""
        return bool(self._send("GET", f"/work_pools/{POOL}")["is_paused"])

    def pause_pool(self, *, paused: bool) -> None:
        """Pause or resume the work pool, which delivers runs to workers."""
        self._send("PATCH", f"/work_pools/{POOL}", {"is_paused": paused})

    def worker_online(self, name: str) -> bool:
        """Tell if the server has recently received a heartbeat of the worker ``name``."""
        found = self._send("POST", f"/work_pools/{POOL}/workers/filter", {})
        return any(worker["name"] == name and worker["status"] == "ONLINE" for worker in found)

    def deployments(self) -> list[dict[str, Any]]:
        """Return every deployment of the pool, with its schedules."""
        return self._pages("/deployments/filter", {"work_pools": {"name": {"any_": [POOL]}}})

    def schedules(self) -> list[Schedule]:
        """Return the schedules of all deployments of the pool."""
        return [
            Schedule(
                deployment=one["name"],
                slug=found["slug"] or found["id"],
                active=bool(found["active"]),
                deployment_id=one["id"],
                id=found["id"],
                entrypoint=one["entrypoint"] or "",
                parameters={**one["parameters"], **(found.get("parameters") or {})},
            )
            for one in self.deployments()
            for found in one["schedules"]
        ]

    def secrets(self) -> list[str]:
        """Return the names of Prefect's Secret blocks, which hold API keys."""
        chosen = {"block_types": {"slug": {"any_": ["secret"]}}}
        return [block["name"] for block in self._pages("/block_documents/filter", chosen)]

    def set_schedule(self, schedule: Schedule, *, active: bool) -> None:
        """Switch a schedule on or off."""
        self._send("PATCH", f"/deployments/{schedule.deployment_id}/schedules/{schedule.id}", {"active": active})

    def unfinished_runs(self, worker: str) -> list[dict[str, Any]]:
        """Return the runs that a worker started and that the server regards as unfinished."""
        chosen = {"work_pools": {"name": {"any_": [POOL]}}, "flow_runs": {"state": {"type": {"any_": _UNFINISHED}}}}
        runs = self._pages("/flow_runs/filter", chosen)
        return [run for run in runs if (run.get("labels") or {}).get("prefect.worker.name") == worker]

    def unfinished_subflows(self, run_ids: Iterable[str]) -> list[dict[str, Any]]:
        """Return the unfinished subflow runs of the runs ``run_ids``."""
        chosen = {"parent_flow_run_id": {"any_": list(run_ids)}, "state": {"type": {"any_": _UNFINISHED}}}
        return self._pages("/flow_runs/filter", {"flow_runs": chosen})

    def set_state(self, run_id: str, kind: str, message: str, *, force: bool = False) -> None:
        """Propose a state for a run; with ``force``, set the state without checking Prefect's rules."""
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
        """Create an object called ``name`` on the server; return False if the object exists already."""
        if self._send("GET", f"{path.rstrip('/')}/{name}", absent_is_none=True) is not None:
            return False
        self._send("POST", path, {"name": name, **body})
        return True

    def _send(self, method: str, path: str, body: dict[str, Any] | None = None, *, absent_is_none: bool = False) -> Any:
        """Send a request and return the response's content; retry for a minute while the database is busy (503)."""
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
                f"{response.status_code} {response.text[:300]} (`bigcodeflow status` names the server's log)"
            )
        return response.json() if response.content else None
