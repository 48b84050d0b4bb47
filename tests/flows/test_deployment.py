"""The deployments that prefect.yaml describes, deployed by Prefect's own command."""

import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.responses import DeploymentResponse

from tests.conftest import ROOT
from tests.flows.observed import prefect

pytestmark = pytest.mark.flow

_CONTENT = yaml.safe_load((ROOT / "prefect.yaml").read_text())
ENTRIES = {entry["name"]: entry for entry in _CONTENT["deployments"]}
#: The flow that each deployment runs.
FLOWS = {"nightly-sweep": "sweep"} | {name: name for name in ENTRIES if name != "nightly-sweep"}

Deployments = dict[str, DeploymentResponse]


@pytest.fixture(scope="module")
def deployments(prefect_client: SyncPrefectClient) -> Deployments:
    prefect("work-pool", "create", "bigcodeflow", "--type", "process")
    prefect("deploy", "--all", "--no-prompt")
    return {name: prefect_client.read_deployment_by_name(f"{FLOWS[name]}/{name}") for name in ENTRIES}


def test_everything_that_the_product_offers_is_deployed() -> None:
    """Every flow is deployed, the sweep once more for the night."""
    modules = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__", "hooks", "form_server", "own_server"}
    places = [entry["entrypoint"].rsplit(".", 1)[0] for entry in ENTRIES.values()]
    assert {place.removeprefix("flows.") for place in places} == modules | {
        f"{package}.flow" for package in ("bigcodeflow_studies.perturbation", "bigcodeflow_leaderboard")
    }
    assert {"ask-a-model", "judge-samples", "sweep-models", "benchmark", "nightly-sweep", "leaderboard"} <= set(ENTRIES)
    nightly = ENTRIES["nightly-sweep"]["parameters"]["file"]
    assert (ROOT / "configs" / "sweeps" / f"{nightly}.yaml").is_file()


def test_a_message_is_sent_for_every_flow() -> None:
    """The shipped automation names flows, which Prefect matches by name."""
    automation = yaml.safe_load((ROOT / "deployments" / "automations" / "notify.yaml").read_text())
    assert set(automation["trigger"]["match_related"]["prefect.resource.name"]) == set(FLOWS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ENTRIES)
def test_a_deployment_imports_the_installed_flow(deployments: Deployments, name: str) -> None:
    """The flow is found by module name, nothing is fetched, and relative paths start where it was deployed.

    Runs that take all cores wait in a queue of their own; the leaderboard and retention never wait for them.
    """
    deployment = deployments[name]
    assert deployment.entrypoint == ENTRIES[name]["entrypoint"]
    assert not deployment.pull_steps
    assert deployment.path is None
    assert deployment.work_pool_name == "bigcodeflow"
    assert deployment.job_variables == {"working_dir": str(ROOT)}
    assert "bigcodeflow" in deployment.tags
    assert deployment.description
    queue = deployment.work_queue_name
    assert (queue == "execution") == ("execution" in deployment.tags)
    assert (queue == "default") == (name in {"leaderboard", "retention"})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nightly-sweep", "retention"])
def test_a_schedule_is_off_until_somebody_switches_it_on(deployments: Deployments, name: str) -> None:
    """A new machine must not spend money by itself; a run that outlasts its interval is not followed by a second one."""
    deployment = deployments[name]
    (schedule,) = deployment.schedules
    assert not schedule.active
    assert schedule.schedule.timezone
    assert deployment.global_concurrency_limit.limit == 1
    assert deployment.concurrency_options.collision_strategy == "CANCEL_NEW"
