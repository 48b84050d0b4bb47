"""The service over HTTP, as its own client asks it and as any other does."""

import json
from collections.abc import Iterator

import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.execution.backend_registry import execution_environment, make_backend
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.serving.request_parsing import ServingSettings
from tests.serving.services import KEY, Served, served

from .conftest import AssertSame
from .samples import LIMITS_OF_ALL, Judged

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance]


@pytest.fixture(scope="module")
def service(starter_environment: InstalledEnvironment) -> Iterator[Served]:
    with served(starter_environment, ServingSettings(key=KEY, limits=LIMITS_OF_ALL), cores=2) as one:
        yield one


def test_the_client_says_what_the_local_backend_says(
    service: Served, assert_same: AssertSame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a real server on loopback, with a key."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)
    config = ExecutionConfig(backend="http", service=ServiceConfig(url=service.url), limits=LIMITS_OF_ALL)
    backend = make_backend(config, execution_environment(config), cores=2)
    try:
        assert backend.check().warm
        assert_same(backend)
    finally:
        backend.close()


def test_one_batch_of_verdicts_says_what_the_local_backend_says(
    service: Served, samples: dict[str, WorkItem], local_verdicts: list[Judged]
) -> None:
    """The service judges as well as its clients do, by what other tools know of an item."""
    items = [
        {
            "id": name,
            "program": item.program,
            "test": item.test,
            "time_seconds": item.time_seconds,
            "task_modules": sorted(item.missing_imports),
        }
        for name, item in samples.items()
    ]
    content = json.dumps({"items": items})
    headers = {"Content-Type": "application/json"}
    answer = service.client.post("/v1/batches", content=content, headers=headers, timeout=600)
    assert answer.status_code == 200, answer.text
    found = {line["id"]: line["verdict"] for line in map(json.loads, filter(None, answer.text.splitlines()))}
    differences = []
    for mine in local_verdicts:
        row = found[mine.name]
        tests = tuple((test["name"], test["outcome"]) for test in row["tests"] if row["status"] != "tampered")
        theirs = Judged(mine.name, row["status"], row["failure_kind"], tests)
        if mine != theirs:
            differences.append(f"{mine} but here {theirs}")
    assert not differences, "\n".join(differences[:10])
