"""The benchmark as people use it in the UI: filled in, started, followed and read in a browser."""

import os
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.service import RUN_SECONDS, ServedRun, Service, wait_for

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.long, pytest.mark.sandbox, pytest.mark.timeout(1800)]

_PAGE_MS = 120_000


class RunForm:
    """The form that starts a run of the benchmark."""

    def __init__(self, page: Any, service: Service) -> None:
        self.page = page
        page.goto(f"{service.address}/deployments/deployment/{service.deployment()['id']}/run")
        page.get_by_text("Name of the run or the model").wait_for()

    def fill(self, description: str, value: str) -> None:
        """Give the field with this description a value."""
        place = (
            f'//*[starts-with(normalize-space(text()), "{description}")]/following::*[self::textarea or self::input]'
        )
        self.page.locator(f"xpath=({place})[1]").fill(value)

    def submit(self) -> None:
        """Press the button, and press it again while the server is too busy to take the run."""
        while self._submitted() == HTTPStatus.SERVICE_UNAVAILABLE:
            pass

    def _submitted(self) -> int:
        with self.page.expect_response(lambda answer: answer.url.endswith("/create_flow_run")) as answered:
            self.page.get_by_role("button", name="Submit").click()
        return answered.value.status


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(_PAGE_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def screenshots(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where pictures go: BIGCODEFLOW_SCREENSHOTS renews those of the docs."""
    folder = Path(os.environ.get("BIGCODEFLOW_SCREENSHOTS") or tmp_path / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def runs_of(service: Service) -> list[dict[str, Any]]:
    """Runs of the deployment, newest first."""
    chosen = {"deployment_id": {"any_": [service.deployment()["id"]]}}
    return service.post("/flow_runs/filter", flow_runs=chosen, sort="START_TIME_DESC")


def test_run_is_started_and_read_in_the_browser(service: Service, page: Any, screenshots: Path, tmp_path: Path) -> None:
    """What is filled in the form is what runs; its page leads to scores, failures and the result."""
    before = {run["id"] for run in runs_of(service)}
    form = RunForm(page, service)
    form.fill("Name of the run or the model", "from-the-form")
    form.fill("Folder for artifacts", str(tmp_path / "store"))
    form.fill("Folder for the result files", str(tmp_path / "out"))
    form.fill("Task numbers or ids", "0-5")
    page.screenshot(path=screenshots / "form.png")
    form.submit()
    [made] = wait_for(lambda: {run["id"] for run in runs_of(service)} - before, "the run that was submitted")
    run = ServedRun(service, made)
    page.goto(f"{service.address}/runs/flow-run/{run.id}")
    page.get_by_text("starter · full · complete · from-the-form").first.wait_for()
    page.get_by_text("Completed", exact=True).first.wait_for(timeout=RUN_SECONDS * 1000)
    run.ended("COMPLETED")
    page.get_by_text("aggregation: starter · full · complete · from-the-form").first.wait_for()
    page.screenshot(path=screenshots / "run.png")
    shown = run.artifacts()
    assert {"scores", "failures", "result", "execution-progress"} <= set(shown)
    page.goto(f"{service.address}/artifacts/artifact/{shown['result']}")
    page.get_by_role("heading", name="Why samples did not pass").wait_for()
    assert "pass@1" in page.inner_text("body")
    page.screenshot(path=screenshots / "result.png")
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("Name of the run or the model", "no good name!", r"config\.name.*no good name!"),
        ("Samples that compute at the same time", "5000", r"workers.*5000"),
    ],
)
def test_bad_input_is_refused_in_the_form(field: str, value: str, complaint: str, service: Service, page: Any) -> None:
    """A value outside what is allowed is refused with the field's name when it is submitted, and no run is made."""
    before = len(runs_of(service))
    form = RunForm(page, service)
    form.fill(field, value)
    form.submit()
    page.get_by_text(re.compile(complaint)).first.wait_for()
    assert len(runs_of(service)) == before
