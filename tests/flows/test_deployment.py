"""The deployments that prefect.yaml describes, deployed by Prefect's own command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.responses import DeploymentResponse
from prefect.context import get_settings_context

from bigcodeflow.config import RunConfig, load_config

pytestmark = pytest.mark.flow

ROOT = Path(__file__).parents[2]
_COMMAND_SECONDS = 300
_CONTENT = yaml.safe_load((ROOT / "prefect.yaml").read_text())
ENTRIES = {entry["name"]: entry for entry in _CONTENT["deployments"]}
#: The flow that each deployment runs.
FLOWS = {"nightly-sweep": "sweep"} | {name: name for name in ENTRIES if name != "nightly-sweep"}

Deployments = dict[str, DeploymentResponse]


def prefect(*arguments: str) -> str:
    """Prefect's command line in the checkout, on the tests' server."""
    variables = get_settings_context().settings.to_environment_variables()
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *arguments],
        cwd=ROOT,
        env=os.environ | variables | {"PWD": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=_COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def deployments(prefect_client: SyncPrefectClient) -> Deployments:
    prefect("work-pool", "create", "bigcodeflow", "--type", "process")
    prefect("deploy", "--all", "--no-prompt")
    return {name: prefect_client.read_deployment_by_name(f"{FLOWS[name]}/{name}") for name in ENTRIES}


@pytest.fixture
def deployment(deployments: Deployments) -> DeploymentResponse:
    return deployments["benchmark"]


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of every section of the parameter form."""
    for section, definition in schema["definitions"].items():
        for name, field in definition.get("properties", {}).items():
            yield f"{section}.{name}", field


def test_everything_that_the_product_offers_is_deployed() -> None:
    """One deployment a flow, and a second one of the sweep for the night."""
    modules = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__", "hooks"}
    assert {entry["entrypoint"].split(".")[1] for entry in ENTRIES.values()} == modules
    assert {"benchmark", "sweep", "nightly-sweep", "rescore", "check-environment", "leaderboard"} <= set(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_deployment_imports_the_installed_flow(deployments: Deployments, name: str) -> None:
    """The flow is found by module name, nothing is fetched, and relative paths start where it was deployed."""
    deployment = deployments[name]
    assert deployment.entrypoint == ENTRIES[name]["entrypoint"]
    assert not deployment.pull_steps
    assert deployment.path is None
    assert deployment.work_pool_name == "bigcodeflow"
    assert deployment.job_variables == {"working_dir": str(ROOT)}
    assert "bigcodeflow" in deployment.tags
    assert deployment.description


@pytest.mark.parametrize("name", ENTRIES)
def test_what_executes_samples_waits_in_a_queue_of_its_own(deployments: Deployments, name: str) -> None:
    """Runs that take all cores are limited together; the leaderboard and the tidying never wait for them."""
    queue = deployments[name].work_queue_name
    assert (queue == "execution") == ("execution" in deployments[name].tags)
    assert (queue == "default") == (name in {"leaderboard", "retention"})


@pytest.mark.parametrize("name", ["nightly-sweep", "retention"])
def test_a_schedule_is_off_until_somebody_switches_it_on(deployments: Deployments, name: str) -> None:
    """A new machine must not spend money by itself; a run that outlasts its interval is not followed by a second one."""
    deployment = deployments[name]
    (schedule,) = deployment.schedules
    assert not schedule.active
    assert schedule.schedule.timezone
    assert deployment.global_concurrency_limit.limit == 1
    assert deployment.concurrency_options.collision_strategy == "CANCEL_NEW"


def test_the_night_runs_a_sweep_that_exists(deployments: Deployments) -> None:
    """The file is named as the form would name it."""
    parameters = deployments["nightly-sweep"].parameters
    assert (ROOT / "configs" / "sweeps" / f"{parameters['file']}.yaml").is_file()


@pytest.mark.parametrize("name", ENTRIES)
def test_form_explains_every_field(deployments: Deployments, name: str) -> None:
    """Each setting in the UI's form has a title and a description; a section has them by its type."""
    schema = deployments[name].parameter_openapi_schema
    assert schema["properties"]
    for field_name, field in fields(schema):
        explained = schema["definitions"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        assert explained.get("title"), field_name
        assert explained.get("description"), field_name


@pytest.mark.parametrize("name", ENTRIES)
def test_a_deployment_can_be_run_as_it_is(deployments: Deployments, name: str) -> None:
    """Every parameter has a default."""
    assert not deployments[name].parameter_openapi_schema.get("required")


def test_form_knows_choices_bounds_and_defaults(deployment: DeploymentResponse) -> None:
    """The form offers choices, keeps numbers within bounds, and starts from the defaults."""
    form = dict(fields(deployment.parameter_openapi_schema))
    assert form["DatasetConfig.split"]["enum"] == ["complete", "instruct"]
    assert (form["ExecutionConfig.workers"]["minimum"], form["ExecutionConfig.workers"]["maximum"]) == (0, 1024)
    assert form["LimitsConfig.time_seconds"]["exclusiveMinimum"] == 0
    assert form["AggregationConfig.k"]["default"] == [1, 5, 10]


def test_single_parameter_is_optional_and_explained(deployment: DeploymentResponse) -> None:
    """A benchmark without any parameter is what `make run` runs, limits, variants and k among it."""
    schema = deployment.parameter_openapi_schema
    assert list(schema["properties"]) == ["config"]
    made = load_config("starter").model_copy(update={"name": "run"})
    assert RunConfig.model_validate(schema["properties"]["config"]["default"]) == made
