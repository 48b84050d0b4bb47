"""The explorer in a real browser. Every test also fails on a console message, a foreign request, or a dialog."""

import json
import re
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from playwright.sync_api import expect

from bigcodeflow.pipeline.live_files import LiveState, keep_ended

pytestmark = pytest.mark.slow


@pytest.fixture
def reader(read, nights):
    """Opens tabs on the explorer over three nights."""
    return partial(read, nights.url)


@pytest.fixture
def live(nights):
    """A run in progress, whose file can be written anew."""
    path = nights.recorded.root / "live" / "one.json"
    path.parent.mkdir(exist_ok=True)

    def write(done, *tasks):
        moment = datetime.now(UTC)
        since = (moment - timedelta(seconds=20)).isoformat()
        run = {"run_id": "one", "name": "gpt · hard · instruct", "started_at": since, "updated_at": moment.isoformat()}
        run |= {"stage": "execution", "done": done, "total": 100, "eta_seconds": 60, "pid": 1, "host": "here"}
        run["executing"] = [
            {"task_id": task, "variant": "raw", "sample_id": 0, "since": since, "limit_seconds": 60} for task in tasks
        ]
        path.write_text(json.dumps(run))

    yield write
    path.unlink(missing_ok=True)


@pytest.fixture
def places(nights):
    """Addresses of every kind of page."""
    page = nights.get("/", model="falling")
    later, earlier = re.findall(r'name="run" value="([^"]+)"', page)[:2]
    state = {"run_id": "x", "model": "gpt", "started_at": "2026-03-02T00:00:00Z", "updated_at": "2026-03-02T00:01:00Z"}
    state |= {"stage": "execution", "log": ["10:00 begins"], "config": {"name": "n"}}
    keep_ended(nights.recorded.root, LiveState(**state, outcome="crashed", error="the disk is full " * 30))
    return {
        "runs": "/",
        "live": "/live",
        "changes": "/changes",
        "trends": "/trends",
        "samples": "/samples?q=keyerror",
        "run": f"/runs/{later}",
        "comparison": f"/compare?run={later}&run={earlier}",
        "sample": f"/sample?run={later}&task=Demo/5",
        "ended": "/runs/x",
        "retry": "/runs/x/retry",
        "recommend": "/recommend?libraries=numpy",
        "studies": "/studies",
    }


def test_charts_are_drawn_under_the_policy(reader, places):
    """Trends, a run and a comparison have drawings with the names of what they show."""
    tab = reader()
    page = tab.open(places["trends"])
    assert page.locator(".chart svg").count() == page.locator(".chart").count() == 1
    assert {"falling", "rising", "steady"} <= set(page.locator(".chart svg text").all_text_contents())
    for place in ("run", "comparison"):
        page = tab.open(places[place])
        assert page.locator(".chart svg").count() == page.locator(".chart").count() > 1


def test_two_runs_are_compared_by_clicking(reader):
    """Two ticks and a button; one tick is not enough, and a seventh cannot be made."""
    page = reader().open("/")
    boxes, button = page.locator("#choose input[type=checkbox]"), page.get_by_role("button", name="Compare the chosen")
    boxes.nth(0).check()
    expect(button).to_be_disabled()
    boxes.nth(1).check()
    expect(page.locator("#chosen")).to_have_text("2 runs chosen")
    for number in range(2, 6):
        boxes.nth(number).check()
    expect(boxes.nth(6)).to_be_disabled()
    for number in range(2, 6):
        boxes.nth(number).uncheck()
    button.click()
    page.wait_for_url("**/compare?run=*&run=*")


def test_from_a_run_to_its_failing_sample(reader):
    """List, run, failed samples, story: each by a click; the program is coloured and its lines are numbered."""
    page = reader().open("/?model=falling")
    page.locator("tbody th a").first.click()
    page.get_by_role("link", name="Samples that failed").click()
    expect(page.locator(".hits li")).to_have_count(14)
    page.locator(".hits a", has_text="Demo/5").click()
    expect(page.locator("h1")).to_contain_text("Demo/5")
    assert page.locator("details[open] code .k").count() > 0
    page.get_by_role("link", name="Demo/6 →").click()
    expect(page.locator("h1")).to_contain_text("Demo/6")


def test_search_by_keyboard(reader):
    """A stroke leads to the search, words and Enter to what is found."""
    page = reader().open("/samples")
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("falling 'column 7'")
    page.keyboard.press("Enter")
    expect(page.locator(".hits li")).to_have_count(1)


def test_a_run_in_progress_is_renewed_where_the_reader_is(reader, live):
    """Counts and samples follow the run's file without a new page; the focus stays; in the end it is gone."""
    live(10, "Demo/1", "Demo/2")
    page = reader().open("/live")
    expect(page.locator(".figures")).to_contain_text("10 of 100")
    page.locator(".scroll").focus()
    live(35, "Demo/2", "Demo/3")
    expect(page.locator(".figures")).to_contain_text("35 of 100", timeout=10_000)
    expect(page.locator(".card tbody th").nth(1)).to_have_text("Demo/3")
    expect(page.locator(".scroll")).to_be_focused()
    live(35)
    expect(page.locator(".card table")).to_have_count(0, timeout=10_000)


def test_forms_of_the_explorer_s_own_pages_are_accepted(reader, live, nights, places):
    """Cancel and labels, as a browser sends them; the server refuses a form without the page's origin."""
    live(10)
    page = reader().open("/live")
    page.get_by_role("button", name="Cancel").click()
    expect(page).to_have_url(f"{nights.url}/live")
    request = nights.recorded.root / "live" / "one.cancel"
    assert request.exists()
    request.unlink()
    page = reader().open_whole(places["run"])
    page.get_by_label("Note").fill("seen")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".title .note")).to_have_text("seen", timeout=20_000)


def test_the_theme_follows_the_system_and_the_reader(reader, places):
    """Dark where the system is; the reader's own choice wins, on the next page too."""
    tab = reader(scheme="dark")
    page = tab.open(places["trends"])
    colour = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(colour)
    page.keyboard.press("t")
    expect(page.locator("body")).not_to_have_css("background-color", dark)
    tab.open(places["runs"])
    assert page.evaluate(colour) != dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390, 360])
def test_every_page_is_accessible(reader, places, live, scheme, width):
    """Nothing keeps from reading a page, in both themes, on a desk and on phones, with all folds open."""
    live(10, "Demo/1")
    tab, found = reader(scheme=scheme, width=width, height=800), {}
    for name, place in places.items():
        tab.open_whole(place)
        found[name] = tab.findings()
    assert {name: findings for name, findings in found.items() if findings} == {}
