"""Execution on workers that share nothing with the driver: verdicts come home, unfit workers refuse, kills cost little."""

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest
import yaml
from distributed import Client
from distributed.security import Security

from bigcodeflow.config import ClusterConfig, ExecutionConfig, LimitsConfig, load_settings
from bigcodeflow.core.errors import ConfigError, EnvironmentUnusableError, ExecutionError
from bigcodeflow.execution.cluster import Cluster, ClusterLostError
from bigcodeflow.execution.engine import execute_items
from bigcodeflow.execution.executor import environment_here
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.items import WorkItem
from tests.conftest import ROOT
from tests.scaleout.hosts import DaskHosts
from tests.serving.services import TEST

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # dask_jobqueue leaves the pipes of its jobs open
]

PROGRAM = "import time\ndef task_func():\n    time.sleep({seconds})\n    return 42\n# {number}"
CONFIG = ExecutionConfig(limits=LimitsConfig(time_seconds=20), workers=1, slots_per_worker=2)
#: Only the sandbox and the environment are the machine's own; nothing here has a folder in common with the driver.
LOOPBACK = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}


def items(count: int, seconds: float = 0.0) -> list[WorkItem]:
    programs = [PROGRAM.format(seconds=seconds, number=number) for number in range(count)]
    return [
        WorkItem(f"{number:04}", program, TEST, ("test_answer",), 20.0, frozenset())
        for number, program in enumerate(programs)
    ]


def keys_of(folder: Path) -> list[str]:
    """Of the verdicts that stand, each as often as it was executed."""
    return sorted(line["verdict_key"] for line in Ledger(folder).read() if line["status"] == "pass")


@pytest.mark.slow
def test_jobs_of_a_queue_execute(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """A dask_jobqueue class named in the configuration starts its jobs, whose verdicts the driver writes itself."""
    options = {"cores": 2, "processes": 1, "memory": "1GB", "scheduler_options": LOOPBACK}
    options |= {"worker_extra_args": ["--host", "127.0.0.1"], "python": None, "local_directory": str(tmp_path / "jobs")}
    cluster = ClusterConfig(type="dask_jobqueue.local.LocalCluster", options=options, jobs=1, patience_seconds=120)
    seen: list[tuple[int, int]] = []
    execute_items(
        items(8),
        config=CONFIG.model_copy(update={"cluster": cluster}),
        environment=starter_environment,
        ledger_folder=tmp_path / "ledger",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert keys_of(tmp_path / "ledger") == [f"{number:04}" for number in range(8)]
    assert len({path.name for path in (tmp_path / "ledger").glob("*/*")}) == 1
    assert (seen[0], seen[-1]) == ((0, 8), (8, 8))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "refusal"),
    [
        ("BIGCODEFLOW_ENVIRONMENTS", r"worker on \S+ lacks .* starter with sha {sha} .*env build"),
        pytest.param("PYTHONPATH", r"worker at tcp:\S+ cannot import bigcodeflow .*: install", marks=pytest.mark.slow),
    ],
)
def test_a_worker_without_the_environment_or_the_package_refuses(
    starter_environment: InstalledEnvironment, tmp_path: Path, dask_hosts: DaskHosts, variable: str, refusal: str
) -> None:
    """One line names the host, what it lacks, and what mends it, instead of what became of the first message to it."""
    (tmp_path / "bigcodeflow.py").write_text("raise ModuleNotFoundError(\"No module named 'bigcodeflow'\")\n")
    dask_hosts.scheduler()
    dask_hosts.worker(**{variable: str(tmp_path)})
    config = CONFIG.model_copy(update={"scheduler_address": dask_hosts.address})
    with pytest.raises(EnvironmentUnusableError, match=refusal.format(sha=starter_environment.environment_sha[:12])):
        execute_items(items(1), config=config, environment=starter_environment, ledger_folder=tmp_path / "ledger")


@pytest.mark.slow
def test_a_cluster_without_workers_is_reported(
    starter_environment: InstalledEnvironment, tmp_path: Path, dask_hosts: DaskHosts
) -> None:
    """Waiting ends, with what to look at."""
    dask_hosts.scheduler()
    update = {"scheduler_address": dask_hosts.address, "cluster": ClusterConfig(patience_seconds=0.5)}
    config = CONFIG.model_copy(update=update)
    with pytest.raises(ExecutionError, match=r"no worker for 0\.5 s: start workers or look at the queue"):
        execute_items(items(1), config=config, environment=starter_environment, ledger_folder=tmp_path / "ledger")


def test_the_environment_is_found_by_its_sha(starter_environment: InstalledEnvironment) -> None:
    """Wherever it lies on the driver, a worker takes its own; another sha of the same name is refused."""
    elsewhere = replace(starter_environment, root=Path("/elsewhere"), python=Path("/elsewhere/python"))
    assert environment_here(elsewhere) == starter_environment
    sha = starter_environment.environment_sha[:12]
    with pytest.raises(EnvironmentUnusableError, match=f"it has .*{sha}.* of that"):
        environment_here(replace(starter_environment, environment_sha="f" * 64))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cluster": {"options": {"cores": 1}}}, "has options but no type"),
        ({"cluster": {"type": "a.B", "jobs": 3, "most_jobs": 2}}, "most_jobs 2 is less than jobs 3"),
        ({"cluster": {"type": "no path"}}, "execution.cluster.type"),
        ({"cluster": {"type": "a.B"}, "scheduler_address": "tcp://[::1]:1"}, "names both scheduler_address and"),
    ],
)
def test_wrong_cluster_settings_are_refused(settings: dict, message: str) -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError, match=message):
        load_settings({"execution": settings}, "test")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"type": "no_such_package.Cluster"}, "cannot be imported .*: install its package"),
        ({"type": "dask_jobqueue.NoSuchCluster"}, "cannot be imported"),
        ({"type": "dask_jobqueue.local.LocalCluster", "options": {"cores": 1}}, "rejects the options .*memory"),
    ],
)
def test_a_cluster_class_that_cannot_be_made_is_named(
    starter_environment: InstalledEnvironment, tmp_path: Path, cluster: dict, message: str
) -> None:
    """The setting and the reason, in one line."""
    config = CONFIG.model_copy(update={"cluster": ClusterConfig(**cluster)})
    with pytest.raises(ConfigError, match=message):
        execute_items(items(1), config=config, environment=starter_environment, ledger_folder=tmp_path)


def test_a_lost_client_that_cannot_be_closed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever Distributed raises while it closes the client, the caller learns that the connection was lost."""
    real = Client.close

    def close(client: Client) -> None:
        real(client)
        raise RuntimeError("dictionary changed size during iteration")

    monkeypatch.setattr(Client, "close", close)
    with Cluster(ExecutionConfig(workers=1)) as cluster:
        with pytest.raises(ClusterLostError, match="lost"), cluster.client() as client:
            raise ClusterLostError("lost")
        with cluster.client() as other:
            assert other is not client
            assert other.submit(sum, [1, 2]).result() == 3


def test_nobody_else_can_use_or_read_a_local_cluster() -> None:
    """Without its certificate no connection is made, and its web servers have no pages."""
    config, others = ExecutionConfig(workers=1), _listening_ports()
    with Cluster(config) as cluster, cluster.client() as client:
        assert client.submit(int, "7").result() == 7
        address = client.scheduler.address
        with pytest.raises(OSError):  # noqa: PT011 - refused, cut off or timed out
            Client(address, security=Security.temporary(), timeout=3, set_as_default=False)
        ports = _listening_ports() - others - {int(address.rpartition(":")[2])}
        assert ports
        for port in ports:
            for path in ("/", "/status", "/info/main/workers.html", "/json/counts.json", "/metrics"):
                with suppress(httpx.TransportError):
                    assert httpx.get(f"http://127.0.0.1:{port}{path}", timeout=5).status_code == 404


def _listening_ports() -> set[int]:
    return {
        connection.laddr.port
        for process in (psutil.Process(), *psutil.Process().children(recursive=True))
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


PAGE = (ROOT / "docs/clusters.md").read_text()


def test_the_documented_clusters_are_valid_settings() -> None:
    """Every YAML example is accepted as it stands."""
    blocks = re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
    examples = [yaml.safe_load(block) for block in blocks if block.lstrip().startswith("execution:")]
    types = [load_settings(example, "docs").execution.cluster.type for example in examples]
    assert types == ["dask_jobqueue.SLURMCluster", "dask_kubernetes.operator.KubeCluster"]


def test_every_cluster_setting_is_documented() -> None:
    """A new setting needs a word there."""
    assert all(f"{name}:" in PAGE for name in ClusterConfig.model_fields)
