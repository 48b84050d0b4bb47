"""Studies on a real server: perturbation, contamination and the audit."""

from pathlib import Path

import pytest
from prefect.client.orchestration import SyncPrefectClient

from bigcodeflow.config import DatasetConfig, load_config
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.results.runs import recorded_runs
from bigcodeflow.store import open_store
from bigcodeflow.studies import recorded_studies
from bigcodeflow_studies.audit import AuditConfig
from bigcodeflow_studies.contamination import ContaminationConfig
from bigcodeflow_studies.perturbation import PerturbationConfig
from bigcodeflow_studies.perturbation.flow import perturbation
from flows.studies import audit, contamination
from tests.flows.observed import run_id, shown

pytestmark = pytest.mark.flow


@pytest.mark.slow
def test_a_corpus_is_searched(prefect_client: SyncPrefectClient, tmp_path: Path) -> None:
    """The starter set's answers hold its prompts: the page says so, and the study is in the store."""
    store = str(tmp_path / "store")
    state = contamination(ContaminationConfig(dataset=DatasetConfig(ids="0-3"), store=store), return_state=True)
    assert state.is_completed(), state.message
    [record] = recorded_studies(open_store(store))
    assert record.ref == state.result()
    [page] = [text for text in shown(prefect_client, run_id(state)).values() if "Tasks in the corpus" in str(text)]
    assert "Starter/0" in page
    assert prefect_client.read_flow_run(run_id(state)).name == "contamination: starter in starter"


@pytest.mark.slow
def test_a_control_scores_the_same_on_variants(
    prefect_client: SyncPrefectClient, starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """The oracle solves originals and variants; both runs are recorded, and samples of originals alone are refused."""
    given = {"dataset.ids": "0-1", "samples.source": "oracle", "execution.workers": 1, "store": str(tmp_path / "store")}
    run = load_config(None, (), {**given, "out": str(tmp_path / "out")})
    config = PerturbationConfig(run=run, kinds=("function",))
    state = perturbation(config, return_state=True)
    assert state.is_completed(), state.message
    rows = open_store(run.store).read(state.result()).to_pylist()
    assert [(row["kind"], row["original_share"], row["perturbed_share"]) for row in rows] == [
        ("function", 1.0, 1.0)
    ] * 2
    assert [one.run for one in recorded_runs(run.store)] == ["run", "oracle-perturbed"]
    pages = shown(prefect_client, run_id(state)).values()
    assert any("original against perturbed tasks" in str(page) for page in pages)
    refused = PerturbationConfig(run=load_config(None, (), {**given, "samples.source": "starter"}))
    assert "has answers to the original tasks only" in str(perturbation(refused, return_state=True).message)


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
