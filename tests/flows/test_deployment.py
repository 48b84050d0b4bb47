"""The deployment that prefect.yaml describes, deployed by Prefect's own command."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.responses import DeploymentResponse
from prefect.context import get_settings_context

from bigcodeflow.config import RunConfig

pytestmark = pytest.mark.flow

ROOT = Path(__file__).parents[2]
_COMMAND_SECONDS = 120


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
def deployment(prefect_client: SyncPrefectClient) -> DeploymentResponse:
    prefect("work-pool", "create", "bigcodeflow", "--type", "process")
    prefect("deploy", "--all", "--no-prompt")
    return prefect_client.read_deployment_by_name("benchmark/benchmark")


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of every section of the parameter form."""
    for section, definition in schema["definitions"].items():
        for name, field in definition["properties"].items():
            yield f"{section}.{name}", field


def test_deployment_imports_the_installed_flow(deployment: DeploymentResponse) -> None:
    """The flow is found by module name, nothing is fetched, and relative paths start where it was deployed."""
    assert deployment.entrypoint == "flows.benchmark.benchmark"
    assert not deployment.pull_steps
    assert deployment.path is None
    assert deployment.work_pool_name == "bigcodeflow"
    assert deployment.job_variables == {"working_dir": str(ROOT)}


def test_form_explains_every_field(deployment: DeploymentResponse) -> None:
    """Each setting in the UI's form has a title and a description; a section has them by its type."""
    schema = deployment.parameter_openapi_schema
    for name, field in fields(schema):
        explained = schema["definitions"][field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        assert explained.get("title"), name
        assert explained.get("description"), name


def test_form_knows_choices_bounds_and_defaults(deployment: DeploymentResponse) -> None:
    """The form offers choices, keeps numbers within bounds, and starts from the defaults."""
    form = dict(fields(deployment.parameter_openapi_schema))
    assert form["DatasetConfig.split"]["enum"] == ["complete", "instruct"]
    assert (form["ExecutionConfig.workers"]["minimum"], form["ExecutionConfig.workers"]["maximum"]) == (0, 1024)
    assert form["LimitsConfig.time_seconds"]["exclusiveMinimum"] == 0
    assert form["AggregationConfig.k"]["default"] == [1, 5, 10]


def test_single_parameter_is_optional_and_explained(deployment: DeploymentResponse) -> None:
    """A run without any parameter is the starter set."""
    schema = deployment.parameter_openapi_schema
    assert list(schema["properties"]) == ["config"]
    assert not schema.get("required")
    assert RunConfig.model_validate(schema["properties"]["config"]["default"]) == RunConfig()
