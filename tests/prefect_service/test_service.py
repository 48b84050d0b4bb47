"""The service with a real server and worker, as it is used on a good day."""

import httpx2
import psutil
import pytest

from tests.prefect_service.services import Service, finished, wait_for

pytestmark = [pytest.mark.flow, pytest.mark.timeout(900)]


@pytest.mark.slow
def test_one_command_starts_everything_and_another_stops_it(service: Service) -> None:
    """Two starts at once make one service; it runs a flow in the project's folder; nothing is left after a stop."""
    starts = [service.begin_up(), service.begin_up()]
    said = [finished(start) for start in starts]
    address = f"http://127.0.0.1:{service.port}"
    assert all(f"Prefect UI: {address}" in text for text in said)
    assert sorted("everything was running already" in text for text in said) == [False, True]
    assert "0 of 1 schedules" in said[0]
    # Prefect's own links lead to the UI that opens by default.
    assert psutil.Process(service.record.worker.pid).environ()["PREFECT_UI_URL"] == f"{address}/v2"

    before = service.record
    assert service.up().count("everything was running already") == 1
    assert service.record == before
    assert "<html" in httpx2.get(address, follow_redirects=True, trust_env=False).text.lower()
    for text in (address, f"process {before.server.pid}", f"process {before.worker.pid}", "nap"):
        assert text in service.call("status")

    run = service.trigger()
    service.wait_for_state(run, "COMPLETED")
    assert (service.project / "napping").read_text() == str(service.project)
    wait_for(lambda: "heard by the library" in service.log_of(run), "the library's warning in the run's log")

    assert "stopped: worker, server" in service.call("down")
    assert not service.processes()
    assert "nothing was running" in service.call("down")
    assert "not running" in service.call("status", code=1)
    assert (service.project / ".bigcodeflow" / ".gitignore").read_text() == "*\n"
