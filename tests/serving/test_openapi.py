"""The descriptions of a service, for programs and for people, and the service against them."""

import re
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from bigcodeflow.cli.service import serve
from bigcodeflow.judge.remote.protocol import Info, Result
from tests.serving.conftest import Serve
from tests.serving.services import KEY, RIGHT, TEST, Served, item

pytestmark = pytest.mark.sandbox

_MODELS = ("Item", "BatchRequest", "RequestedLimits", "Verdict", "Result", "Info")
_PAGE = Path(__file__).parents[2] / "docs" / "service.md"
#: What no schema can say: a test has to be Python with a class of tests, names differ, limits are the service's own. How
#: large a request is, is asked before its form.
_CONFIG = """
hooks = "reading_of_lines.py"
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "409", "413", "422", "429"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "413", "415", "422"]
"""
#: Each line is described; the first one stands for all.
_HOOKS = """
import json
import schemathesis

@schemathesis.deserializer("application/x-ndjson")
def first_line(context, response):
    return json.loads(next(line for line in response.content.splitlines() if line))
"""


def test_every_answer_is_described(shared_service: Served) -> None:
    """Each status that tests of this folder meet, the key, and the bodies that are read by hand."""
    document = shared_service.client.get("/openapi.json").json()
    batches = document["paths"]["/v1/batches"]["post"]
    assert set(batches["responses"]) == {"200", "400", "401", "408", "409", "413", "415", "422", "429", "503"}
    assert batches["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/BatchRequest")
    assert batches["security"] == [{"HTTPBearer": []}]
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    assert "security" not in document["paths"]["/health"]["get"]
    undescribed = [
        f"{model}.{name}"
        for model, schema in document["components"]["schemas"].items()
        for name, field in schema.get("properties", {}).items()
        if "description" not in field and model in _MODELS
    ]
    assert undescribed in ([], ["Info.environment", "Info.capabilities"])


def test_answers_have_the_form_that_is_described(shared_service: Served) -> None:
    """Read by the models that the description is made of."""
    Info.model_validate(shared_service.client.get("/v1/info").json())
    answer = shared_service.client.post("/v1/batches", json={"items": [item("a")]})
    found = Result.model_validate_json(answer.text)
    assert found.verdict
    assert found.verdict.status == "pass"


@pytest.mark.slow
def test_the_service_does_what_its_description_says(serve_here: Serve, tmp_path: Path) -> None:
    """Requests made from the description, good and bad ones: no error, no answer that is not described."""
    (tmp_path / "schemathesis.toml").write_text(_CONFIG)
    (tmp_path / "reading_of_lines.py").write_text(_HOOKS)
    with serve_here(max_batch=5, max_body_mib=1) as served:
        done = subprocess.run(
            [
                *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
                *("run", f"{served.url}/openapi.json", "--header", f"Authorization:Bearer {KEY}"),
                *("--phases", "examples,coverage,fuzzing", "--max-examples", "60", "--seed", "1"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        executions = served.service.jobs.executions
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert executions > 10


def test_the_client_of_fifteen_lines_works(shared_service: Served, with_key: None) -> None:
    """It gives a reward for each program, in their order, and has fifteen lines."""
    (text,) = re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    assert len([line for line in text.splitlines() if line]) <= 16
    names: dict = {}
    exec(text, names)
    found = names["rewards"]([RIGHT, "def task_func():\n    return 1\n", "x ="], TEST, shared_service.url)
    assert found == [1.0, 0.0, 0.0]


def test_every_option_is_documented() -> None:
    """Those of the command are those of the page."""
    page = _PAGE.read_text()
    missing = [name for name in signature(serve).parameters if f"`--{name.replace('_', '-')}`" not in page]
    assert not missing


def test_every_status_is_documented(shared_service: Served) -> None:
    """Those of the description are those of the page."""
    document = shared_service.client.get("/openapi.json").json()
    statuses = {status for path in document["paths"].values() for one in path.values() for status in one["responses"]}
    page = _PAGE.read_text()
    assert [status for status in sorted(statuses) if status != "200" and status not in page] == []
