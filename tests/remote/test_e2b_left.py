"""What the backend e2b leaves in the cloud: nothing, and where it was killed nothing for long."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bigcodeflow.execution.backend_registry import execution_environment, make_backend
from bigcodeflow.execution.remote.e2b import E2BBackend, own_metadata, remove_orphans
from tests.doubles.e2b import E2BDouble, Fault
from tests.remote.e2b_cloud import STARTER, backend_with, cloud, double, e2b_config, executed, quick_launcher
from tests.serving.services import until

pytestmark = pytest.mark.sandbox
__all__ = ["backend_with", "double"]  # fixtures


# what is left behind


def test_sandboxes_of_processes_that_are_gone_are_swept(double: E2BDouble) -> None:
    """On this machine only, running and paused, through several pages; those of the living stay."""
    from e2b import Sandbox

    double.page = 2
    mine = own_metadata()
    gone = mine | {"bigcodeflow_owner": "999999999-1"}
    reused = mine | {"bigcodeflow_owner": f"{os.getpid()}-1"}
    elsewhere = gone | {"bigcodeflow_machine": "another"}
    ids = {
        name: [Sandbox.create(STARTER, metadata=who, timeout=60).sandbox_id for _ in range(2)]
        for name, who in {"mine": mine, "gone": gone, "reused": reused, "elsewhere": elsewhere, "foreign": {}}.items()
    }
    double.sandboxes[ids["gone"][0]].state = "paused"
    assert remove_orphans() == 4
    assert set(double.sandboxes) == {*ids["mine"], *ids["elsewhere"], *ids["foreign"]}


def test_orphans_that_cannot_be_listed_stop_no_run(double: E2BDouble, backend_with: Callable[..., E2BBackend]) -> None:
    """They end by their time-out."""
    double.faults["list"] = [Fault(500)]
    assert backend_with(sandboxes=1).check().isolated


_CLIENT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from bigcodeflow.execution.backend_registry import execution_environment, make_backend
from tests.remote.e2b_cloud import e2b_config
from tests.remote.e2b_cloud import work_items
config = e2b_config(e2b={"timeout_seconds": 60})
backend = make_backend(config, execution_environment(config), cores=2)
with ThreadPoolExecutor(8) as pool:
    list(pool.map(backend.execute, work_items(["sleep 100"] * 8)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("ended_by", ["time-out", "sweep"])
def test_a_killed_client_leaves_nothing_for_long(
    ended_by: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """kill -9 in the middle of a run: its sandboxes end by their time-out, or when the next run begins."""
    with cloud(monkeypatch, tmp_path, script=quick_launcher(), pace=30 if ended_by == "time-out" else 1) as double:
        client = subprocess.Popen([sys.executable, "-c", _CLIENT], cwd=Path(__file__).parents[2])
        try:
            assert until(lambda: len(double.sandboxes) == 2 and len(double.created) == 3, 60)
        finally:
            client.send_signal(signal.SIGKILL)
            client.wait()
        if ended_by == "time-out":
            assert until(lambda: not double.sandboxes, 10)
        else:
            left = set(double.sandboxes)
            assert len(left) == 2
            config = e2b_config()
            backend = make_backend(config, execution_environment(config), cores=1)
            try:
                backend.check()
                assert not left & set(double.sandboxes)
            finally:
                backend.close()


def test_a_cloud_that_is_gone_at_the_end_is_told_and_no_more(
    double: E2BDouble, backend_with: Callable[..., E2BBackend], caplog: pytest.LogCaptureFixture
) -> None:
    """The run has its verdicts; the sandbox ends by itself."""
    backend = backend_with(sandboxes=1)
    assert executed(backend, ["x"])[0].stdout == "x"
    double.faults["kill"] = [Fault(500)]
    backend.close()
    assert any("will end by itself within 300 s" in message for message in caplog.messages)
