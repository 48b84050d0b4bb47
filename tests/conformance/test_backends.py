"""The local backend against what each sample is known to be, and every other backend but docker against the local one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow.config import ExecutionConfig, ServiceConfig
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.admission import Admission
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.service.request_parsing import ServingSettings
from bigcodeflow_hosts.hosts import RemoteBackend
from tests.extensions.hosts.e2b_cloud import cloud, e2b_config
from tests.extensions.hosts.host_process import ProcessTransport
from tests.serving.services import KEY, Served, served
from tests.serving.space_process import SpaceProcess

from .conftest import LIMITS_OF_ALL, SAMPLES, AssertSame, Judged, judged_row, require_same

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.conformance, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def service(starter_environment: InstalledEnvironment) -> Iterator[Served]:
    with served(starter_environment, ServingSettings(key=KEY, limits=LIMITS_OF_ALL), cores=2) as one:
        yield one


def test_the_samples_cover_every_status(local_verdicts: list[Judged]) -> None:
    """Two hundred samples, all statuses but infra_error, and each end is what its name says."""
    assert len(local_verdicts) == SAMPLES
    found = {one.status for one in local_verdicts}
    assert found == {"pass", "fail", "timeout", "out_of_memory", "syntax_error", "crash", "tampered"}
    ends = {one.name.removeprefix("end: "): one.status for one in local_verdicts if one.name.startswith("end: ")}
    wrong = {
        name: status for name, status in ends.items() if name.split(" by ")[0] in found and not name.startswith(status)
    }
    assert not wrong


def test_honest_programs_pass(local_verdicts: list[Judged]) -> None:
    """All of them; of attacks one execution says nothing, which is why what passes is executed again elsewhere."""
    assert {one.status for one in local_verdicts if one.name.startswith("honest: ")} == {"pass"}


def test_a_cold_start_gives_the_same(starter_environment: InstalledEnvironment, assert_same: AssertSame) -> None:
    """Verdicts do not depend on the start."""
    assert_same(LocalBackend(starter_environment, LIMITS_OF_ALL, admission=Admission(2)), warm=False)


def test_two_hosts_say_what_the_local_backend_says(
    starter_environment: InstalledEnvironment, assert_same: AssertSame
) -> None:
    """The host program of docker and e2b, as two processes of one core each, over standard streams."""
    config = ExecutionConfig(backend="docker", limits=LIMITS_OF_ALL)
    assert_same(RemoteBackend(config, lambda: ProcessTransport("--cores", "1"), hosts=2))


def test_sandboxes_in_the_cloud_say_what_the_local_backend_says(
    starter_environment: InstalledEnvironment, assert_same: AssertSame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E2B's own SDK against its double: two sandboxes of one core each, whose output arrives in pieces of any size."""
    config = e2b_config(limits=LIMITS_OF_ALL)
    with cloud(monkeypatch, tmp_path) as double:
        double.chunk_bytes = 1000
        environment = execution_environment(config)
        assert environment.lock_sha256 == starter_environment.lock_sha256
        assert_same(make_backend(config, environment, cores=2))
        assert not double.sandboxes


def test_a_space_says_what_the_local_backend_says(
    starter_environment: InstalledEnvironment, assert_same: AssertSame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a real Gradio server on loopback, with a key, sixteen items at once."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)
    space = SpaceProcess(tmp_path, key=KEY)
    try:
        config = ExecutionConfig(backend="gradio", service=ServiceConfig(url=space.url), limits=LIMITS_OF_ALL)
        assert_same(make_backend(config, execution_environment(config), cores=2))
    finally:
        space.stop()


def test_a_service_says_what_the_local_backend_says(
    service: Served, assert_same: AssertSame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To its own client, over a real server on loopback, with a key."""
    monkeypatch.setenv("BIGCODEFLOW_SERVICE_KEY", KEY)
    config = ExecutionConfig(backend="http", service=ServiceConfig(url=service.url), limits=LIMITS_OF_ALL)
    assert_same(make_backend(config, execution_environment(config), cores=2))


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
    require_same(local_verdicts, [judged_row(mine.name, found[mine.name]) for mine in local_verdicts])
