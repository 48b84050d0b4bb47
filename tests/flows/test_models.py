"""Models asked by a flow: limits that runs share, and keys that stay where they are."""

from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient

from bigcodeflow.config import RunConfig
from tests.flows.observed import RunFlow, settings_in
from tests.generation.providers.double import Completion, Received, model_server

pytestmark = pytest.mark.flow


def _answer(_: Received) -> Completion:
    return Completion("```python\ndef task_func(*args):\n    return 1\n```", latency_seconds=0.05)


def _asking(folder: Path, server: Any, limit: str, *others: str) -> RunConfig:
    model = ("samples.source=model", "sanitizing.mode=parity", "generation.model=openai:m")
    address = f"generation.base_url={server.url('openai')}"
    return settings_in(folder, *model, address, f"generation.requests.shared_limit={limit}", *others)


@pytest.mark.slow
def test_a_limit_of_the_server_holds_for_requests(
    run_flow: RunFlow, prefect_client: SyncPrefectClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one slot in the limit that the setting names, one request at a time; the key reaches the model alone."""
    monkeypatch.setenv("CANARY_KEY", "canary-4711")
    prefect_client._client.post(  # the synchronous client has no method for it
        "/v2/concurrency_limits/", json={"name": "models", "limit": 1, "slot_decay_per_second": 0}
    ).raise_for_status()
    with model_server(_answer) as server:
        key = "generation.api_key_variable=CANARY_KEY"
        run = run_flow(_asking(tmp_path, server, "models", "dataset.ids=0-4", key))
        assert run.state.is_completed(), run.state.message
        assert (len(server.requests), server.most_in_flight) == (5, 1)
        assert "canary-4711" in server.last.headers["authorization"]
    shown = prefect_client.read_flow_run(run.id).model_dump_json() + "".join(run.log("generation: finished"))
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "canary-4711" not in shown
    assert b"canary-4711" not in stored


def test_a_limit_that_does_not_exist_is_named(run_flow: RunFlow, tmp_path: Path) -> None:
    """Otherwise requests would go without any limit."""
    with model_server(_answer) as server:
        run = run_flow(_asking(tmp_path, server, "absent", "dataset.ids=0"))
        assert run.state.is_failed()
        assert not server.requests
    assert "absent" in run.state.message
