"""What dies is started again, what changed is registered again, and runs are never lost from sight."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.prefect_service.services import DEPLOYMENTS, Service, finished

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of the module; each leaves it in a state that `up` mends."""
    service = Service(tmp_path_factory.mktemp("service") / "project")
    yield service
    service.kill()


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def schedules(service: Service) -> list[bool]:
    found = service.ask("POST", "/deployments/filter", {})
    return [schedule["active"] for deployment in found for schedule in deployment["schedules"]]


def test_a_killed_server_is_started_again_and_its_worker_goes_on(running: Service) -> None:
    """The same worker serves the new server, at the same address."""
    running.up()
    before = running.record
    kill(before.server.pid)
    assert "not running" in running.call("status", code=1)
    assert "started: server" in running.up()
    assert running.record.worker == before.worker
    run = running.trigger()
    running.wait_for_state(run, "COMPLETED")


def test_a_run_survives_the_death_of_its_worker(running: Service) -> None:
    """Its process is alive, so it is left to end by itself."""
    running.up()
    run = running.napping()
    kill(running.record.worker.pid)
    assert "started: worker" in running.up()
    assert running.state(run) == "RUNNING"
    running.wake()
    running.wait_for_state(run, "COMPLETED")


def test_a_run_that_died_with_its_worker_becomes_crashed_and_can_be_retried(running: Service) -> None:
    """As after a power cut: nobody was left to report it, nor the run that it had started inside itself."""
    running.up()
    run = running.napping(inside=True)
    kill(running.record.worker.pid)
    for process in running.flow_processes():
        kill(process.pid)
    assert running.state(run) == "RUNNING"
    assert "1 runs had lost their process" in running.up()
    assert running.state(run) == "CRASHED"
    inside = running.ask("POST", "/flow_runs/filter", {"flow_runs": {"parent_flow_run_id": {"any_": [run]}}})
    assert [one["state_type"] for one in inside] == ["CRASHED"]
    retry = {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}, "force": False}
    running.ask("POST", f"/flow_runs/{run}/set_state", retry)
    running.wait_for_state(run, "RUNNING")
    running.call("down")


def test_down_cancels_runs_and_the_next_start_serves_new_ones(running: Service) -> None:
    """The server marks the cancelled run as such, no process is left, and the pool is not left paused."""
    running.up()
    run = running.napping()
    assert "cancelling 1 runs" in running.call("down")
    assert not running.processes()
    running.up()
    assert running.state(run) == "CANCELLED"
    running.wait_for_state(running.trigger(), "COMPLETED")


def test_down_can_wait_for_runs(running: Service) -> None:
    """They end as if nothing had been asked."""
    running.up()
    run = running.napping()
    stop = running.begin("down", "--wait")
    assert "waiting for runs" in stop.stderr.readline()
    running.wake()
    assert "stopped: worker, server" in finished(stop)
    running.up()
    assert running.state(run) == "COMPLETED"


def test_a_stop_that_was_killed_leaves_no_paused_pool(running: Service) -> None:
    """The next start resumes what the interrupted stop had paused."""
    running.up()
    run = running.napping()
    stop = running.begin("down", "--wait")
    assert "waiting for runs" in stop.stderr.readline()
    stop.kill()
    stop.communicate()
    running.wake()
    running.wait_for_state(run, "COMPLETED")
    assert running.record.pool_paused
    running.call("down")
    running.up()
    running.wait_for_state(running.trigger(), "COMPLETED")


def test_an_active_schedule_stays_active_when_deployments_change(running: Service) -> None:
    """Schedules begin switched off; what somebody switched on survives an update of prefect.yaml."""
    running.up("--no-schedules")
    assert schedules(running) == [False]
    running.up("--schedules")
    assert schedules(running) == [True]
    running.file.write_text(DEPLOYMENTS.replace("- name: nap", "- name: nap\n    description: changed"))
    assert "started: deployments" in running.up()
    assert schedules(running) == [True]
    assert running.ask("GET", "/deployments/name/nap/nap")["description"] == "changed"


def test_a_schedule_without_its_key_is_named_when_it_is_switched_on(running: Service) -> None:
    """It is on all the same: the key may follow, in the env file or a Secret block."""
    nightly = """
  - name: nightly
    entrypoint: flows.forms.ask_a_model
    parameters: {model: "anthropic:claude-opus-4", preset: starter}
    work_pool: {name: bigcodeflow}
    schedules: [{slug: night, cron: "0 2 * * *", active: false}]
"""
    running.file.write_text(DEPLOYMENTS + nightly)
    said = running.up("--schedules")
    assert schedules(running) == [True, True]
    assert "the schedule nightly/night is on, but anthropic needs a key" in said
    assert "nap/yearly is on" not in said
    keys = running.project / "keys"
    keys.write_text("ANTHROPIC_API_KEY=sk-none\n")
    assert "is on, but" not in running.up("--schedules", "--env-file", "keys")
    running.file.write_text(DEPLOYMENTS)
    running.up()


def test_a_deleted_deployment_comes_back_and_settings_are_kept(running: Service) -> None:
    """`--runs` sets how many runs execute at once, and a start without it keeps that; another port needs a stop."""
    running.up("--runs", "3")
    running.ask("DELETE", f"/deployments/{running.ask('GET', '/deployments/name/nap/nap')['id']}")
    again = running.up()
    assert "started: deployments" in again
    assert "at most 3 runs" in again
    assert running.ask("GET", "/deployments/name/nap/nap")["name"] == "nap"
    assert "bigcodeflow down" in running.call("up", "--port", str(running.port + 1), code=1)


def test_a_deployment_that_cannot_be_imported_is_shown(running: Service) -> None:
    """Prefect's last lines, no traceback of ours; mended, the next start goes on."""
    running.up()
    running.file.write_text(DEPLOYMENTS.replace("naps.nap", "naps.absent"))
    assert "absent" in running.up(code=1)
    running.file.write_text(DEPLOYMENTS)
    running.up()


def test_a_server_that_does_not_come_up_shows_the_end_of_its_log(service: Service, tmp_path: Path) -> None:
    """A database file that is no database: the reason and the log's path."""
    broken = tmp_path / "broken.db"
    broken.write_text("this is not a database, and it is longer than the header of one would have been " * 20)
    said = service.up("--database", f"sqlite:///{broken}", code=1)
    assert "server.log" in said
    assert "not a database" in said
    assert not service.processes()
