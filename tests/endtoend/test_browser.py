"""The benchmark as people use it in the UI: filled in, started, followed and read in a browser."""

import os
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.judge.environments import InstalledEnvironment
from tests.endtoend.conftest import write_samples
from tests.endtoend.service import RUN_SECONDS, ServedRun, Service, wait_for

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.long, pytest.mark.sandbox, pytest.mark.timeout(1800)]

_PAGE_MS = 120_000


class RunForm:
    """The form that starts a run of a deployment, in the version of the UI that opens by default."""

    def __init__(self, page: Any, service: Service, name: str = "benchmark") -> None:
        self.page = page
        page.goto(f"{deployment_page(service, name)}/run")
        page.get_by_role("button", name="Submit").wait_for()

    def fill(self, field: str, value: str) -> None:
        """Give the field with this label a value."""
        fill(self.page, field, value)

    def choose(self, field: str, value: str) -> None:
        """Take a choice of a field."""
        choose(self.page, field, value)

    def submit(self) -> None:
        """Press the button, and press it again while the server is too busy to take the run."""
        while self._submitted() == HTTPStatus.SERVICE_UNAVAILABLE:
            pass

    def _submitted(self) -> int:
        with self.page.expect_response(lambda answer: answer.url.endswith("/create_flow_run")) as answered:
            self.page.get_by_role("button", name="Submit").click()
        return answered.value.status


def deployment_page(service: Service, name: str) -> str:
    return f"{service.address}/v2/deployments/deployment/{service.deployment(f'{name}/{name}')['id']}"


def fill(place: Any, field: str, value: str) -> None:
    place.get_by_label(re.compile(rf"^{field}( \(Optional\))?$")).first.fill(value)


def choose(place: Any, field: str, value: str) -> None:
    place.get_by_label(f"Select {field}").click()
    place.get_by_role("option", name=value).click()


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


@pytest.fixture(scope="module")
def checked(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose server checks forms, as that of `bigcodeflow up` does, and that knows no key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        with Service(tmp_path_factory.mktemp("checked"), checks_forms=True) as service:
            yield service


def runs_of(service: Service, name: str = "benchmark") -> list[dict[str, Any]]:
    """Runs of a deployment, newest first."""
    chosen = {"deployment_id": {"any_": [service.deployment(f"{name}/{name}")["id"]]}}
    return service.post("/flow_runs/filter", flow_runs=chosen, sort="START_TIME_DESC")


def test_run_is_started_and_read_in_the_browser(service: Service, page: Any, screenshots: Path) -> None:
    """What is filled in the form is what runs; its page leads to scores, failures and the result."""
    page.goto(service.address)
    page.get_by_role("link", name="Deployments").click()
    page.get_by_role("link", name="benchmark").first.wait_for()
    assert "/v2/" in page.url, "another version opens by default"
    before = {run["id"] for run in runs_of(service)}
    form = RunForm(page, service)
    form.fill("Name", "from-the-form")
    form.fill("Store", "my-store")
    form.fill("Out", "my-results")
    form.fill("Ids", "0-5")
    page.get_by_role("heading", name="Parameters").scroll_into_view_if_needed()
    page.screenshot(path=screenshots / "form.png")
    form.submit()
    [made] = wait_for(lambda: {run["id"] for run in runs_of(service)} - before, "the run that was submitted")
    run = ServedRun(service, made)
    state = run.ended("COMPLETED")
    page.goto(run_page(run))
    page.get_by_text("starter · full · complete · from-the-form").first.wait_for()
    page.get_by_role("tab", name="Artifacts").click()
    page.get_by_text(state["message"]).first.wait_for()
    page.screenshot(path=screenshots / "run.png")
    shown = run.artifacts()
    assert {"scores", "failures", "result", "execution-progress"} <= set(shown)
    page.goto(f"{service.address}/v2/artifacts/artifact/{shown['result']}")
    page.get_by_role("heading", name="Why samples did not pass").wait_for()
    assert "pass@1" in page.inner_text("body")
    assert_tables_fit(page)
    page.screenshot(path=screenshots / "result.png")
    assert (service.folder / "my-results" / "report.html").is_file()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(run_page(run))
    page.get_by_role("tab", name="Artifacts").wait_for()
    page.screenshot(path=screenshots / "run-phone.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("ask-a-model", ("model", "openai:gpt-4o", "openai needs a key.*OPENAI_API_KEY")),
        ("judge-samples", ("samples", "/no/such.jsonl", "/no/such.jsonl")),
        ("sweep-models", ("name", "no good!", "must be letters")),
    ],
)
def test_short_forms_fit_and_say_what_is_missing(
    name: str, case: tuple[str, str, str], checked: Service, page: Any, screenshots: Path
) -> None:
    """Each is shorter than two screens; what cannot run is refused with the reason, and no run is made."""
    field, value, complaint = case
    page.set_viewport_size({"width": 1280, "height": 1500})
    form = RunForm(page, checked, name)
    if name == "sweep-models":
        page.get_by_role("button", name="Add item").click()
        page.locator("textarea").first.fill("openai:gpt-4o")
    form.fill(field, value)
    page.screenshot(path=screenshots / f"form-{name}.png")
    heights = "Math.max(...[...document.querySelectorAll('*')].map(each => each.scrollHeight))"
    assert page.evaluate(heights) < 1800
    form.submit()
    page.get_by_text(re.compile(f"cannot start.*{complaint}")).first.wait_for()
    if name == "ask-a-model":
        page.wait_for_timeout(1000)  # it fades in
        page.screenshot(path=screenshots / "form-refused.png")
    assert not runs_of(checked, name)


def test_a_sweep_is_started_and_its_table_fits(checked: Service, page: Any, screenshots: Path) -> None:
    """Its page shows the scores beside the panel of details."""
    form = RunForm(page, checked, "sweep-models")
    for number, answers in enumerate(("oracle", "stub")):
        page.get_by_role("button", name="Add item").click()
        page.locator("textarea").nth(number).fill(answers)
    form.choose("preset", "starter")
    form.submit()
    [found] = wait_for(lambda: runs_of(checked, "sweep-models"), "the sweep that was submitted")
    run = ServedRun(checked, found["id"])
    assert run.ended("COMPLETED")["message"] == "2 runs: 2 ran"
    [page_of_all] = [one for kind, one in run.artifacts().items() if kind.endswith("-result")]
    page.goto(f"{checked.address}/v2/artifacts/artifact/{page_of_all}")
    page.get_by_role("cell", name="100.0 %").first.wait_for()
    page.screenshot(path=screenshots / "sweep.png")
    assert_tables_fit(page)


def test_a_schedule_that_the_form_saves_starts_runs(checked: Service, page: Any) -> None:
    """With the parameters that were filled in there."""
    before = {run["id"] for run in runs_of(checked, "judge-samples")}
    page.goto(deployment_page(checked, "judge-samples"))
    page.get_by_role("button", name="Schedule", exact=True).click()
    dialog = page.get_by_role("dialog")
    fill(dialog, "Value", "1")
    fill(dialog, "samples", "stub")
    dialog.get_by_label("Select preset").click()
    page.get_by_role("option", name="starter").click()
    dialog.get_by_role("button", name="Save").click()
    deployment = checked.deployment("judge-samples/judge-samples")["id"]
    [schedule] = wait_for(lambda: checked.get(f"/deployments/{deployment}/schedules"), "the saved schedule")
    try:

        def started() -> list[str]:
            runs = [run for run in runs_of(checked, "judge-samples") if run["id"] not in before]
            return [run["id"] for run in runs if run["state_type"] == "COMPLETED"]

        [first, *_] = wait_for(started, "a scheduled run", RUN_SECONDS)
    finally:
        checked.asked("DELETE", f"/deployments/{deployment}/schedules/{schedule['id']}")
    assert "samples=stub" in checked.get(f"/flow_runs/{first}")["tags"]


def test_a_failed_run_is_retried_from_its_page(service: Service, page: Any, tmp_path: Path) -> None:
    """Its page names the mistake; when that is corrected, Retry goes on with the same run."""
    file = tmp_path / "mine.jsonl"
    config = {"samples": {"source": str(file)}, "store": str(tmp_path / "store"), "out": str(tmp_path / "out")}
    run = service.run(config | {"dataset": {"ids": "0-2"}})
    run.ended("FAILED")
    page.goto(run_page(run))
    page.get_by_text(f"{file}: cannot be opened").first.wait_for()
    write_samples(file)
    page.get_by_role("button", name="Open menu").first.click()
    page.get_by_role("menuitem", name="Retry").click()
    page.get_by_role("button", name="Retry").click()  # asks once more
    wait_for(lambda: run.state["type"] != "FAILED", "the retry")
    run.ended("COMPLETED")


def run_page(run: ServedRun) -> str:
    return f"{run.service.address}/v2/runs/flow-run/{run.id}"


def assert_tables_fit(page: Any) -> None:
    """No table is wider than its place, where it would run below the panel beside it."""
    widths = "[...document.querySelectorAll('table')].map(one => one.scrollWidth - one.parentElement.clientWidth)"
    found = page.evaluate(widths)
    assert found
    assert max(found) <= 1
