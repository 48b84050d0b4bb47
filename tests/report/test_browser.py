"""The report in a real browser. Every test also fails on a console message, a request, or a dialog: see `read`.

What is waited for is asked of locators: the page's policy forbids `wait_for_function`, which evaluates text in it.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.report.conftest import RecordedStore, failing_test

#: Would each set a mark, or open a dialog, where a text became markup or code.
CANARIES = (
    '<img src=x onerror="document.documentElement.dataset.owned=1">',
    "</script><script>document.documentElement.dataset.owned=1</script>",
    '<svg/onload="document.documentElement.dataset.owned=1">',
    "javascript:document.documentElement.dataset.owned=1",
    "\u2028document.documentElement.dataset.owned=1//{{summary}}",
    "<!--<script>",
)
HOSTILE = " ".join(CANARIES)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    """Forty tasks, two models; the better one fails two of them in its own way."""
    recorded = RecordedStore(tmp_path_factory.mktemp("store"))
    names = []
    for model in ("weak", "strong"):
        run = recorded.tables()
        for number in range(40):
            run.task(f"Demo/{number}", domains=["Math"], libs=["numpy" if number % 2 else "pandas"])
            failed = number % 3 == 0 if model == "weak" else number in (7, 9)
            trace = f"Traceback (most recent call last):\n  File \"x\", line 1\nKeyError: 'column {number}'\n"
            run.sample(
                f"Demo/{number}",
                "fail" if failed else "pass",
                solution=f"def task_func(x):\n    # {model} {number}\n    return x\n",
                tests=[failing_test(f"test_{number}", trace)] if failed else [],
            )
        names.append(recorded.record(run, model=model, run=model))
    return recorded.report(*names).path.as_uri(), names


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """Three models at two temperatures each, so that every part of a comparison is there."""
    recorded = RecordedStore(tmp_path_factory.mktemp("store"))
    names = []
    for model, every in (("a-model-with-a-long-name-instruct", 2), ("b", 3), ("c", 7)):
        for temperature in (0.2, 0.8):
            run = recorded.tables()
            for number in range(40):
                run.task(f"Demo/{number}", domains=["Math"], libs=["numpy"] if number % 2 else ["pandas", "numpy"])
                failed = number % every == 0 or (temperature > 0.5 and number < 4)
                run.sample(f"Demo/{number}", "fail" if failed else "pass")
            name = f"{model}+{temperature}"
            names.append(recorded.record(run, model=model, run=name, sampling={"temperature": temperature}))
    return recorded.report(*names).path.as_uri()


def _rows(page):
    return page.locator("#list .row").all_inner_texts()


def _found(page):
    return page.locator("#found").inner_text()


def test_the_overview_shows_scores_and_draws_charts(two_models, read):
    """Scores of both runs stand in the table, and every chart is a drawing with the runs' names in it."""
    page = read(two_models[0]).open()
    assert page.get_by_role("row", name=re.compile("^strong")).first.inner_text().split("\t")[4] == "95.0 %"
    charts = page.locator(".chart")
    assert charts.count() >= 4
    assert page.locator(".chart svg").count() == charts.count()
    assert {"weak · full · complete", "strong · full · complete"} <= set(
        page.locator("#chart-scores svg text").all_text_contents()
    )


def test_search_finds_tasks_causes_and_libraries(two_models, read):
    """All words and quoted phrases must fit; they are looked for in tasks, causes, runs and libraries at once."""
    page = read(two_models[0]).open("#view=samples")
    assert _found(page) == "80 samples"
    page.fill("#q", "keyerror \"'column 7'\"")
    assert _found(page) == "1 of 80 samples"
    assert "Demo/7" in _rows(page)[0]
    assert "strong" in _rows(page)[0]
    page.fill("#q", "numpy weak")
    assert _found(page) == "20 of 80 samples"
    page.fill("#q", "nothing of the kind")
    assert _found(page) == "0 of 80 samples"
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#found")).to_have_text("80 samples")


def test_filters_narrow_the_list_and_stay_in_the_address(two_models, read):
    """A filtered list is a link: opened elsewhere it shows the same samples."""
    reader = read(two_models[0])
    page = reader.open("#view=samples")
    page.select_option("#filter-run", label="weak · full · complete")
    page.select_option("#filter-status", label="not passed")
    assert _found(page) == "14 of 80 samples"
    place = page.evaluate("location.hash")
    assert _found(reader.open(place)) == "14 of 80 samples"


def test_a_deep_link_opens_its_sample(two_models, read):
    """run, task and sample in the address lead to the failing test's trace and the program."""
    path, names = two_models
    page = read(path).open(f"#run={names[1]}&task=Demo/7&sample=0")
    detail = page.locator("#detail")
    detail.get_by_role("heading", name="Demo/7").wait_for()
    failure = detail.locator("details[open]", has=page.locator("summary", has_text="test_7: fail"))
    assert "KeyError: 'column 7'" in failure.inner_text()
    assert detail.locator("code .k").count() > 0
    assert "# strong 7" in detail.inner_text()
    assert page.locator("#list [aria-selected=true]").count() == 1


def test_a_link_to_a_sample_that_is_not_there_says_so(two_models, read):
    """No other sample is shown in its place."""
    page = read(two_models[0]).open("#run=weak&task=Demo/999&sample=0")
    assert "no such sample" in page.locator("#detail").inner_text()


def test_the_keyboard_reaches_everything(two_models, read):
    """Search, move, open, step, return and help without a pointer."""
    page = read(two_models[0]).open()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("weak keyerror")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#detail-title", has_text="Demo/3").wait_for()
    page.keyboard.press("n")
    page.locator("#detail-title", has_text="Demo/6").wait_for()
    page.keyboard.press("p")
    page.locator("#detail-title", has_text="Demo/3").wait_for()
    page.keyboard.press("Escape")
    expect(page.locator("#list")).to_be_focused()
    assert "q=weak+keyerror" in page.evaluate("location.hash")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_only_rows_in_sight_are_in_the_document(recorded, read):
    """A list of 3,000 samples has some dozen elements, wherever it is scrolled to."""
    run = recorded.tables()
    for number in range(300):
        run.task(f"Demo/{number}")
        for index in range(10):
            run.sample(f"Demo/{number}", index=index)
    recorded.record(run)
    page = read(recorded.report("run").path.as_uri()).open("#view=samples")
    page.locator("#list").focus()
    page.keyboard.press("End")
    page.locator("#list [aria-posinset='3000']").wait_for()
    assert len(_rows(page)) < 60
    assert "Demo/299" in _rows(page)[-1]


def test_hostile_texts_stay_texts(recorded, read):
    """Markup in names, answers, programs, traces and output is shown and does nothing."""
    run = recorded.tables()
    run.task(f"Demo/{HOSTILE}", libs=[HOSTILE], domains=[HOSTILE], texts={"complete_prompt": HOSTILE, "test": HOSTILE})
    run.task("Demo/2", libs=[HOSTILE], domains=[HOSTILE])
    for task in (f"Demo/{HOSTILE}", "Demo/2"):
        run.sample(
            task,
            "fail",
            kind=f"kind {HOSTILE}",
            answer=HOSTILE,
            solution=f"x = '''{HOSTILE}'''\n# {HOSTILE}",
            tests=[failing_test(HOSTILE, f"Traceback (most recent call last):\nError: {HOSTILE}")],
            stdout=HOSTILE,
        )
    for name in ("a", "b"):
        recorded.record(run, model=f"{name} {HOSTILE}", run=name)
    page = read(recorded.report("a", "b").path.as_uri()).open()
    for mark in page.locator(".chart svg [aria-roledescription='point']").all()[:3]:
        mark.hover(force=True)
    page.goto(page.url.split("#")[0] + "#view=samples")
    page.locator("#list .row").first.click()
    page.locator("#detail-title").wait_for()
    page.evaluate("document.querySelectorAll('#detail details').forEach((part) => { part.open = true; })")
    for canary in CANARIES:
        assert canary in page.locator("#detail").text_content()
    assert page.evaluate("document.documentElement.dataset.owned ?? 'nobody'") == "nobody"
    assert page.locator("#detail img, #detail svg, #detail script, #sections img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_is_accessible(two_models, read, scheme, width):
    """Nothing keeps from reading overview, list and sample, in both themes, on a desk and on a phone."""
    path, names = two_models
    reader = read(path, scheme=scheme, width=width, height=800)
    for place in ("", "#view=samples", f"#run={names[0]}&task=Demo/0&sample=0"):
        reader.open(place)
        assert reader.findings() == []


def test_a_phone_shows_list_and_sample_in_turns(two_models, read):
    """Each takes the whole width."""
    path, names = two_models
    page = read(path, width=360, height=740).open(f"#run={names[0]}&task=Demo/0&sample=0")
    assert not page.locator("#list").is_visible()
    page.get_by_role("button", name="← List").click()
    page.locator("#list").wait_for()
    assert not page.locator("#detail").is_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_a_comparison_is_drawn_and_accessible(comparison, read, scheme, width):
    """Differences, matrix, ratings and grids are charts with tables; nothing keeps from reading it."""
    reader = read(comparison, scheme=scheme, width=width, height=800)
    page = reader.open_whole()
    for name in ("differences", "significance", "ratings", "grid-a"):
        assert page.locator(f"#chart-{name} svg").count() == 1
    assert page.locator("#chart-significance svg text", has_text="+").count() > 1
    assert reader.findings() == []


def test_a_task_in_quarantine_says_so(recorded, read):
    """Beside the sample, and for whoever searches for it."""
    run = recorded.tables()
    for number in range(3):
        run.task(f"Demo/{number}")
        run.sample(f"Demo/{number}", "fail")
    recorded.record(run, quarantine={"tasks": ["Demo/1"]})
    page = read(recorded.report("run").path.as_uri()).open("#view=samples&q=quarantine")
    assert _found(page) == "1 of 3 samples"
    page.locator("#list .row").first.click()
    page.locator("#detail .notice", has_text="in quarantine").wait_for()
