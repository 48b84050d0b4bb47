"""The audit of tasks on a real server."""

from pathlib import Path

import pytest
from prefect.client.orchestration import SyncPrefectClient

from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.store import open_store
from bigcodeflow.studies import recorded_studies
from bigcodeflow.studies.audit import AuditConfig
from flows.studies import audit
from tests.flows.observed import run_id, shown

pytestmark = pytest.mark.flow


@pytest.mark.slow
def test_an_audit_shows_its_findings_on_a_page(
    prefect_client: SyncPrefectClient, starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """The result is in the store, and its page has the mutation score; an environment that is not there is named."""
    config = AuditConfig(ids="1", mutants=4, contradictions=False, workers=1, store=str(tmp_path / "store"))
    state = audit(config, return_state=True)
    assert state.is_completed(), state.message
    (record,) = recorded_studies(open_store(config.store))
    assert record.ref == state.result()
    assert any("Mutation score: " in str(page) for page in shown(prefect_client, run_id(state)).values())
    refused = audit(config.model_copy(update={"environment": "absent"}), return_state=True)
    assert "absent" in str(refused.message)
