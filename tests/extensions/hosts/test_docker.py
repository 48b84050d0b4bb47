"""The backend docker on a real engine: what its containers may do, and what happens when they or their client die."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bigcodeflow.core.errors import EnvironmentUnusableError, SandboxUnavailableError
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
from bigcodeflow.judge.host.base import Backend, Outcome
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.remote.backend import HostLostError
from bigcodeflow.judge.verdicts import verdict
from bigcodeflow_hosts import docker as ours
from tests.attacks.conftest import work
from tests.attacks.reading import Exhibit
from tests.extensions.hosts.docker_engine import DockerEngine, engine
from tests.serving.services import TEST, until

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(1800)]

_CLIENT = """
import sys, time
from bigcodeflow.config import ExecutionConfig
from bigcodeflow.judge.backend_registry import execution_environment, make_backend
config = ExecutionConfig(backend="docker", docker={"url": sys.argv[1]})
backend = make_backend(config, execution_environment(config), cores=1)
backend.check()
print("ready", flush=True)
time.sleep(600)
"""
_CREATOR = """
import sys
from bigcodeflow.config import ExecutionConfig
from bigcodeflow_hosts import docker as ours
config = ExecutionConfig(backend="docker", docker={"url": sys.argv[1]})
engine = ours.DockerEngine.connect(sys.argv[1])
settings = ours.container_settings(engine, config, image=sys.argv[2], environment="starter", cores=1)
print(engine.client.create_container_from_config(settings)["Id"], flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def lab() -> DockerEngine:
    return engine()


@pytest.fixture
def opened(lab: DockerEngine) -> Iterator[Callable[..., Backend]]:
    """Makes backends whose first container runs, and ends them."""
    made: list[Backend] = []

    def make(cores: float = 2, **options: object) -> Backend:
        config = lab.config(**options)
        made.append(make_backend(config, execution_environment(config), cores=cores))
        made[-1].check()
        return made[-1]

    yield make
    for one in made:
        one.close()
    assert until(lambda: not lab.containers())


def _item(program: str = "def task_func():\n    return 42") -> WorkItem:
    return work(program, Exhibit(program, TEST))


def _status(item: WorkItem, outcome: Outcome) -> str:
    return str(verdict(item, outcome, backend="docker", environment_sha="sha")["status"])


def test_a_container_can_write_reach_and_become_nothing(lab: DockerEngine, opened: Callable[..., Backend]) -> None:
    """Read-only but for /tmp, no interface but loopback, an ordinary user without capabilities, under a filter."""
    opened()
    (container,) = lab.containers()
    for place in ("/", "/opt/environments", "/opt/bigcodeflow", "/usr/bin", "/var/tmp", "/etc"):
        assert "Read-only file system" in lab.inside(container, f"touch {place}/x")
    assert not lab.inside(container, "touch /tmp/x && rm /tmp/x")
    assert lab.inside(container, "id -u; ls /sys/class/net").split() == ["1000", "lo"]
    status = dict(line.split(":", 1) for line in lab.inside(container, "cat /proc/1/status").splitlines())
    assert {int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {0}
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    assert "host --environment starter" in lab.inside(container, "tr '\\0' ' ' < /proc/1/cmdline")


def test_a_container_has_its_share_and_no_more(lab: DockerEngine, opened: Callable[..., Backend]) -> None:
    """Memory, processes and cores are bounded by the engine, and nothing is swapped or logged."""
    opened(cores=2, containers=2, memory_mib=5000, processes=500)
    with closing(lab.client()) as client:
        host = client.inspect_container(lab.containers()[0])["HostConfig"]
    assert (host["Memory"], host["MemorySwap"]) == (5000 << 20, 5000 << 20)
    assert (host["PidsLimit"], host["NanoCpus"]) == (500, 10**9)
    assert host["LogConfig"]["Type"] == "none"
    assert lab.inside(lab.containers()[0], "ulimit -n; ulimit -c").split() == ["16384", "0"]
    forks = "i=0; while [ $i -lt 700 ]; do sleep 5 & i=$((i+1)); done 2>&1; true"
    assert "fork" in lab.inside(lab.containers()[0], forks).lower()


def test_admission_counts_with_the_containers_memory(lab: DockerEngine, opened: Callable[..., Backend]) -> None:
    """Not with the machine's: samples that are let in for memory that is not there would be killed for it."""
    opened(memory_mib=4500)
    program = "from bigcodeflow.judge.host.admission import machine_memory_mib as m; print(*m())"
    free, total = map(float, lab.inside(lab.containers()[0], f"python -c '{program}'").split())
    assert total == 4500
    assert 0 < free < 4500


def test_a_client_that_is_killed_leaves_no_container(lab: DockerEngine) -> None:
    """The host ends with its input, and the engine removes what ended."""
    with subprocess.Popen([sys.executable, "-c", _CLIENT, lab.url], stdout=subprocess.PIPE) as client:
        assert client.stdout.readline() == b"ready\n"
        assert len(lab.containers()) == 1
        client.send_signal(signal.SIGKILL)
    assert until(lambda: not lab.containers())


def test_a_container_that_never_started_is_removed_once_its_owner_is_gone(
    lab: DockerEngine, opened: Callable[..., Backend]
) -> None:
    """While the owner lives, it is left alone; asking for the environment, as keys do, removes nothing."""
    config = lab.config()
    image = execution_environment(config).reference
    backend = opened()
    command = [sys.executable, "-c", _CREATOR, lab.url, image]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as creator:
        made = creator.stdout.readline().decode().strip()
        backend.check()
        assert made in lab.containers()
        creator.kill()
        creator.wait()
        execution_environment(config)
        assert made in lab.containers()
        backend.check()
        assert made not in lab.containers()


def test_why_a_container_died_is_reported(lab: DockerEngine) -> None:
    """Exit code and the last word of its standard error, although the engine has removed it."""
    config = lab.config()
    connected = ours.DockerEngine.connect(lab.url)
    image = execution_environment(config).reference
    settings = ours.container_settings(connected, config, image=image, environment="starter", cores=1)
    transport = ours.ContainerTransport(
        connected, settings | {"Cmd": ["sh", "-c", "echo one; echo no room >&2; exit 7"]}
    )
    lines = transport.lines()
    assert next(lines) == b"one"
    with pytest.raises(HostLostError, match="it ended with exit 7: no room"):
        next(lines)
    transport.close()


def test_an_engine_that_goes_away_fails_no_sample(
    lab: DockerEngine, opened: Callable[..., Backend], tmp_path: Path
) -> None:
    """Items are unplaced, with the remedy, and are judged again once it is back."""
    socket = tmp_path / "engine.sock"
    socket.symlink_to(lab.url.removeprefix("unix://"))
    backend = opened(url=f"unix://{socket}")
    item = _item()
    assert _status(item, backend.execute(item)) == "pass"
    socket.unlink()
    lab.kill(lab.containers()[0])
    outcome = backend.execute(item)
    assert outcome.not_started
    assert "start Docker or Podman" in outcome.exit
    assert _status(item, outcome) == "infra_error"


def test_an_image_or_a_runtime_that_is_missing_is_named_with_the_remedy(lab: DockerEngine) -> None:
    """Before anything runs; so is an image that holds something else."""
    with pytest.raises(EnvironmentUnusableError, match="no image nobody:1: run `bigcodeflow env build starter"):
        execution_environment(lab.config(image="nobody:1"))
    if unlabelled := lab.image(lab.config())["Parent"]:
        with pytest.raises(EnvironmentUnusableError, match="has environment none, and starter is needed"):
            execution_environment(lab.config(image=unlabelled))
    with pytest.raises(SandboxUnavailableError, match=r"runtime is gvisor-x, and the engine knows .*runc"):
        execution_environment(lab.config(runtime="gvisor-x"))
