"""The explorer as its users start it: by the command, and by the service."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from bigcodeflow.core.listening import listening
from bigcodeflow.prefect_service import processes
from bigcodeflow.prefect_service.folder import (
    STATE_VARIABLE,
    ServiceFolder,
    ServiceRecord,
    ServiceSettings,
    explorer_url,
)
from bigcodeflow.results.catalog.building import rebuild_catalog
from tasks.progress import explorer_link, linked, run_path
from tests.explorer.conftest import record_night


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_the_command_shows_a_store_until_it_is_stopped(recorded, tmp_path, end):
    """It prints its address, answers, and ends quietly."""
    record_night(recorded, "m", {1})
    rebuild_catalog(recorded.root)
    command = [Path(sys.executable).with_name("bigcodeflow"), "explore", "--store", recorded.root, "--port", "0"]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        url = process.stdout.readline().strip()
        assert httpx2.get(f"{url}/health", trust_env=False, timeout=120).text.endswith(str(recorded.root))
        assert "m · full · complete" in httpx2.get(url, trust_env=False, timeout=120).text
        process.send_signal(end)
        _, complained = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in complained) == (0, False), complained


def test_a_port_that_is_taken_is_told_in_one_line(bigcodeflow, tmp_path):
    """With what to do."""
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        done = bigcodeflow("explore", "--store", tmp_path, "--port", str(port), check=False)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert "choose another" in done.stderr
    assert "Traceback" not in done.stderr


def test_runs_link_to_the_explorer_of_their_store(tmp_path, monkeypatch):
    """Where the service's explorer runs and shows that store; else there is no link."""
    folder = ServiceFolder(tmp_path / "state")
    folder.root.mkdir()
    monkeypatch.setenv(STATE_VARIABLE, str(folder.root))
    monkeypatch.chdir(tmp_path)
    assert explorer_url("results/store") == ""
    record = ServiceRecord(settings=ServiceSettings(explorer_port=4201), explored=str(tmp_path / "results" / "store"))
    folder.write(record)
    assert explorer_url("results/store") == ""
    record.explorer = processes.identify(os.getpid())
    folder.write(record)
    assert explorer_url("results/store") == "http://127.0.0.1:4201"
    assert explorer_url("elsewhere") == ""
    assert explorer_link("results/store", run_path("2026+a b/c")) == "http://127.0.0.1:4201/runs/2026%2Ba%20b%2Fc"
    assert linked("Scores", "results/store", "/trends") == "[Scores](http://127.0.0.1:4201/trends)"
    assert linked("Scores", "elsewhere") == "Scores"
