"""The shipped automations, created from their files on a real server, and started by real events."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from prefect import flow
from prefect.blocks.webhook import Webhook
from prefect.settings import PREFECT_API_URL, temporary_settings

from tests.endtoend.conftest import Config
from tests.endtoend.service import ROOT, Service, wait_for

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

_FOLDER = ROOT / "deployments" / "automations"
_PLACEHOLDER = "00000000-0000-0000-0000-000000000000"
_MESSAGE_SECONDS = 120


def create(service: Service, name: str, wanted_id: str, folder: Path) -> None:
    """Do what the file's comment says."""
    text = (_FOLDER / name).read_text()
    assert text.count(_PLACEHOLDER) == 1
    (folder / name).write_text(text.replace(_PLACEHOLDER, wanted_id))
    service.prefect("automation", "create", "--from-file", str(folder / name))


@pytest.fixture
def messages() -> Iterator[tuple[str, "Queue[dict[str, Any]]"]]:
    """A webhook's address, and what is sent there."""
    received: Queue[dict[str, Any]] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/hook", received
        finally:
            server.shutdown()


def test_failed_run_sends_a_message(
    service: Service, config: Config, tmp_path: Path, messages: tuple[str, "Queue[dict[str, Any]]"]
) -> None:
    """The message names the flow, the run, its state and the reason, and the file needs no secret."""
    address, received = messages
    with temporary_settings({PREFECT_API_URL: service.variables["PREFECT_API_URL"]}):
        block = Webhook(url=address).save("notify", overwrite=True)
    create(service, "notify.yaml", str(block), tmp_path)
    run = service.run(config(samples={"source": str(tmp_path / "absent.jsonl")}))
    run.ended("FAILED")
    text = received.get(timeout=_MESSAGE_SECONDS)["text"]
    assert text.startswith("benchmark · absent · full · complete: Failed.")
    assert "absent.jsonl: cannot be opened" in text
    assert run.id in text


def test_completed_sweep_starts_the_leaderboard(service: Service, tmp_path: Path) -> None:
    """The completion of a flow called sweep starts the chosen deployment; that of another flow does not."""
    target = service.post(
        "/deployments/",
        name="stands-for-the-leaderboard",
        flow_id=service.deployment()["flow_id"],
        entrypoint="flows.benchmark.benchmark",
    )
    create(service, "leaderboard-after-sweep.yaml", target["id"], tmp_path)

    @flow
    def sweep() -> None: ...

    @flow
    def other() -> None: ...

    def started() -> list[dict[str, Any]]:
        return service.post("/flow_runs/filter", flow_runs={"deployment_id": {"any_": [target["id"]]}})

    with temporary_settings({PREFECT_API_URL: service.variables["PREFECT_API_URL"]}):
        other()
        sweep()
    wait_for(started, "the run that the automation starts", _MESSAGE_SECONDS)
    assert len(started()) == 1
