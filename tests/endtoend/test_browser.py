"""The benchmark as people use it in the UI: filled in, started, followed and read in a browser."""

import os
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.environments import InstalledEnvironment
from tests.endtoend.service import RUN_SECONDS, ServedRun, Service, wait_for

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.long, pytest.mark.sandbox, pytest.mark.timeout(1800)]

_PAGE_MS = 120_000


class RunForm:
    """The form that starts a run of a deployment; by default of the benchmark, with all settings."""

    def __init__(self, page: Any, service: Service, name: str = "benchmark") -> None:
        self.page = page
        page.goto(f"{service.address}/deployments/deployment/{service.deployment(f'{name}/{name}')['id']}/run")
        page.get_by_role("button", name="Submit").wait_for()

    def fill(self, description: str, value: str) -> None:
        """Give the field with this description a value."""
        place = (
            f'//*[starts-with(normalize-space(text()), "{description}")]/following::*[self::textarea or self::input]'
        )
        self.page.locator(f"xpath=({place})[1]").fill(value)

    def choose(self, field: str, value: str) -> None:
        """Take one of a field's choices."""
        place = f'//*[starts-with(normalize-space(text()), "{field}")]/following::*[contains(@class, "p-select-button__control")]'
        self.page.locator(f"xpath=({place})[1]").focus()
        self.page.keyboard.press("ArrowDown")
        self.page.locator(".p-select-option").filter(has_text=value).click()

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


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("ask-a-model", ("PROVIDER:NAME", "openai:gpt-4o", "openai needs a key.*OPENAI_API_KEY")),
        ("judge-samples", ("Sample file", "/no/such.jsonl", "/no/such.jsonl")),
        ("sweep-models", ("Name of the sweep", "no good!", "must be letters")),
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
        page.locator("textarea").nth(1).wait_for()
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


def test_a_short_form_runs(checked: Service, page: Any) -> None:
    """Samples are judged from two fields; the typed name is the run's, and its tags say what it is."""
    form = RunForm(page, checked, "judge-samples")
    page.locator("input").first.fill("my first run")
    form.fill("Sample file", "oracle")
    form.choose("preset", "starter")
    form.submit()
    [found] = wait_for(lambda: runs_of(checked, "judge-samples"), "the run that was submitted")
    ServedRun(checked, found["id"]).ended("COMPLETED")
    run = checked.get(f"/flow_runs/{found['id']}")
    assert run["name"] == "my first run"
    assert {"samples=oracle", "preset=starter", "subset=full"} <= set(run["tags"])
