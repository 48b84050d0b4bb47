"""Two hosts as network namespaces: Dask on one, driver and store on the other, and the line between them is cut."""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.store import open_store
from tests.scaleout.hosts import wait_for
from tests.store.s3 import variables

from .test_s3_runs import _MEASURED, _evaluation, _outcome, _slow_samples

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("starter_environment")]

_COUNT = 60
_DRIVER, _DASK = "10.231.77.1", "10.231.77.2"
_MAKE_BUCKET = "import fsspec; fsspec.filesystem('s3').mkdir('bucket')"
_SEGMENTS = """
from bigcodeflow.store import open_store
print(sum(".partial/" in name for name in open_store("s3://bucket/store").bucket.objects("execution")))
"""


class TwoHosts:
    """Namespaces with a cable between them."""

    def __init__(self, folder: Path) -> None:
        tag = uuid.uuid4().hex[:6]
        self.driver, self.dask = f"bcf-{tag}-a", f"bcf-{tag}-b"
        self._cables = (f"bcf{tag}a", f"bcf{tag}b")
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    def plug_in(self) -> None:
        one, other = self._cables
        for host in (self.driver, self.dask):
            _ip("netns", "add", host)
            _ip("-n", host, "link", "set", "lo", "up")
        _ip("link", "add", one, "netns", self.driver, "type", "veth", "peer", "name", other, "netns", self.dask)
        for host, cable, address in ((self.driver, one, _DRIVER), (self.dask, other, _DASK)):
            _ip("-n", host, "addr", "add", f"{address}/24", "dev", cable)
            _ip("-n", host, "link", "set", cable, "up")

    def line(self, state: str) -> None:
        """Set the line up or down."""
        _ip("-n", self.dask, "link", "set", self._cables[1], state)

    def start(self, host: str, *command: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Start a process on a host, in a folder of its own."""
        home = self._folder / f"process-{len(self._started)}"
        home.mkdir()
        with (home / "out").open("wb") as output:
            process = subprocess.Popen(
                ["ip", "netns", "exec", host, *command], cwd=home, env=os.environ | environment,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._started.append(process)
        return process

    def output_of(self, process: "subprocess.Popen[bytes]") -> str:
        """What a process has printed."""
        return (self._folder / f"process-{self._started.index(process)}" / "out").read_text()

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
        for host in (self.driver, self.dask):
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[TwoHosts]:
    if os.getuid() or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    hosts = TwoHosts(tmp_path)
    try:
        hosts.plug_in()
        yield hosts
    finally:
        hosts.close()


def _rows(out: Path) -> list[dict]:
    return [
        {key: _outcome(value) for key, value in row.items() if key not in _MEASURED}
        for row in pq.read_table(out / "verdicts.parquet").to_pylist()
    ]


@pytest.mark.parametrize(("seconds_cut", "tcp_timeout"), [(3, "30s"), (45, "12s")], ids=["held out", "lost"])
@pytest.mark.timeout(600)
def test_a_line_that_is_cut_changes_no_result(
    hosts: TwoHosts, tmp_path: Path, seconds_cut: int, tcp_timeout: str
) -> None:
    """Cut for less and for longer than the connections last: the same rows as on one machine without any cut."""
    samples = _slow_samples(tmp_path, _COUNT)
    server = variables("http://127.0.0.1:5000", tmp_path / "replicas")
    hosts.start(
        hosts.driver, sys.executable, "-c", "import moto.server as s; s.main(['-H', '127.0.0.1', '-p', '5000'])"
    )
    on_driver = ["ip", "netns", "exec", hosts.driver, sys.executable, "-c"]

    def has_bucket() -> bool:
        return subprocess.run(
            [*on_driver, _MAKE_BUCKET], env=os.environ | server, capture_output=True, check=False
        ).returncode == 0  # fmt: skip

    wait_for(has_bucket, "the object store")
    patient = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": tcp_timeout, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"}
    dask = [sys.executable, "-m"]
    scheduler = ["distributed.cli.dask_scheduler", "--host", _DASK, "--port", "8786", "--no-dashboard"]
    hosts.start(hosts.dask, *dask, *scheduler, **patient)
    worker = ["distributed.cli.dask_worker", f"tcp://{_DASK}:8786", "--nthreads", "1", "--no-dashboard"]
    hosts.start(hosts.dask, *dask, *worker, "--host", _DASK, **patient)
    address = f"execution.scheduler_address=tcp://{_DASK}:8786"
    run = hosts.start(
        hosts.driver, *_evaluation(samples, "s3://bucket/store", tmp_path / "far", address), **server, **patient
    )
    ledger = tmp_path / "replicas"
    wait_for(lambda: _verdicts(ledger) >= 5 or run.poll() is not None, "five verdicts")
    hosts.line("down")
    assert run.poll() is None, hosts.output_of(run)
    assert _verdicts(ledger) < _COUNT
    try:
        run.wait(seconds_cut)
    except subprocess.TimeoutExpired:
        hosts.line("up")
    assert run.wait(400) == 0, hosts.output_of(run)
    subprocess.run(
        _evaluation(samples, str(tmp_path / "store"), tmp_path / "near"), check=True, capture_output=True, timeout=300
    )
    assert _rows(tmp_path / "far") == _rows(tmp_path / "near")
    done = subprocess.run([*on_driver, _SEGMENTS], env=os.environ | server, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"
    assert len(open_store(tmp_path / "store").published("execution")) == 2


def _verdicts(replicas: Path) -> int:
    """Lines that the driver has written in the ledger of the samples, which is the larger one."""
    return max((sum(1 for _ in Ledger(one).read()) for one in replicas.glob("*/execution/*.partial")), default=0)
