"""A deployment's schedule really starts its runs."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.endtoend.conftest import Config
from tests.endtoend.service import ServedRun, Service, wait_for

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1800)]

_LEAD = timedelta(seconds=90)
#: A worker takes a run up so much ahead of its time.
_PREFETCH = timedelta(seconds=10)


def test_scheduled_run_starts_at_its_time_and_finishes(service: Service, config: Config) -> None:
    """A run that nobody triggers starts at its time, not when it is planned, with the schedule's own parameters."""
    deployment = service.deployment()["id"]
    at = (datetime.now(UTC) + _LEAD).replace(microsecond=0)
    once = f"DTSTART:{at:%Y%m%dT%H%M%SZ}\nRRULE:FREQ=DAILY;COUNT=1"
    wanted = {"schedule": {"rrule": once, "timezone": "UTC"}, "parameters": {"config": config(name="nightly")}}
    [made] = service.asked("POST", f"/deployments/{deployment}/schedules", json=[wanted]).json()
    try:
        chosen = {"deployment_id": {"any_": [deployment]}, "tags": {"all_": ["auto-scheduled"]}}
        [run] = wait_for(lambda: service.post("/flow_runs/filter", flow_runs=chosen), "the scheduled run")
        served = ServedRun(service, run["id"])
        served.ended("COMPLETED")
    finally:
        service.asked("DELETE", f"/deployments/{deployment}/schedules/{made['id']}")
    run = service.get(f"/flow_runs/{run['id']}")
    assert run["name"] == "oracle · full · complete · nightly"
    assert datetime.fromisoformat(run["start_time"]) >= at - _PREFETCH
