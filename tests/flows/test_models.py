"""Models asked by a flow: limits that runs share, and keys that stay where they are."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import GenerationError
from tasks import stages
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


@pytest.mark.slow
def test_a_limit_that_does_not_exist_is_named(run_flow: RunFlow, tmp_path: Path) -> None:
    """Otherwise requests would go without any limit."""
    with model_server(_answer) as server:
        run = run_flow(_asking(tmp_path, server, "absent", "dataset.ids=0"))
        assert run.state.is_failed()
        assert not server.requests
    assert "absent" in run.state.message


class _Slots:
    """What `prefect.concurrency` gives at each attempt: an error to enter with, or to leave with, or nothing."""

    def __init__(self, *entered: Exception | None, left: Exception | None = None) -> None:
        self._entered, self._left, self.attempts = list(entered), left, 0

    @asynccontextmanager
    async def __call__(self, name: str, **_: Any) -> AsyncIterator[None]:
        self.attempts += 1
        error = self._entered.pop(0) if self._entered else None
        if error is not None:
            raise ConcurrencySlotAcquisitionError(name) from error
        yield
        if self._left is not None:
            raise self._left


def _in_slot(monkeypatch: pytest.MonkeyPatch, slots: _Slots) -> str:
    monkeypatch.setattr(stages, "concurrency", slots)
    monkeypatch.setattr(stages, "_PAUSES_SECONDS", (0.0, 0.0))

    async def ask() -> str:
        async with stages._slot("models"):
            return "answer"

    return asyncio.run(ask())


def test_a_server_that_fails_is_asked_for_a_slot_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart of the Prefect server costs neither the run nor an answer that is there when the slot is given back."""
    fault = ConnectionError("refused")
    slots = _Slots(fault, fault)
    assert _in_slot(monkeypatch, slots) == "answer"
    assert slots.attempts == 3
    assert _in_slot(monkeypatch, _Slots(left=fault)) == "answer"
    with pytest.raises(GenerationError, match="check the Prefect server"):
        _in_slot(monkeypatch, _Slots(fault, fault, fault))
