"""The explorer's pages over loopback, on a store of small real tables."""

import csv
import http.client
import io
import json
import re
import socket
import subprocess
from datetime import UTC, datetime

import duckdb
import pytest

from bigcodeflow.config import load_config
from bigcodeflow.explorer.pages import now
from bigcodeflow.pipeline.live_files import LiveState, ended_runs, keep_ended
from bigcodeflow.results.runs import RunLabels, recorded_runs
from tests.explorer.conftest import exploring, record_night
from tests.prefect_service.services import wait_for
from tests.report.test_browser import CANARIES, HOSTILE

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def rows(page):
    """Names of the runs that the list shows, in its order."""
    return re.findall(r'<th scope="row"><a href="/runs/[^"]+">([^<]+)</a>', page)


def records(page):
    return re.findall(r'name="run" value="([^"]+)"', page)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_all_runs_are_listed_the_latest_first(nights):
    """Each with its score and interval; the list says how many there are."""
    page = nights.get("/")
    assert rows(page)[0] == "steady · full · instruct"
    assert len(rows(page)) == 10
    assert "10 runs" in text_of(page)
    assert "90.0 %" in page


@pytest.mark.parametrize(
    ("query", "n_runs"),
    [
        ({"model": "falling"}, 3),
        ({"split": "instruct"}, 1),
        ({"subset": "hard"}, 0),
        ({"environment": "bigcodebench"}, 1),
        ({"q": "RISING full"}, 3),
        ({"since": "2026-03-02"}, 0),
        ({"until": "2026-02-28"}, 0),
        ({"since": "2026-03-01", "until": "2026-03-01"}, 10),
        ({"model": "no such model"}, 0),
    ],
)
def test_filters_narrow_the_list(nights, query, n_runs):
    """By model, split, subset, environment, day and words; nothing found says so."""
    page = nights.get("/", **query)
    assert len(rows(page)) == n_runs
    assert ("No run fits" in page) == (n_runs == 0)


def test_the_list_has_an_order(nights):
    """By score the best is first, by age the oldest."""
    scores = [float(one) for one in re.findall(r"(\d+\.\d) %", nights.get("/", sort="score").partition("<tbody>")[2])]
    assert scores == sorted(scores, reverse=True)
    assert records(nights.get("/", sort="-began")) == sorted(records(nights.get("/")))
    page = nights.get("/", sort="score")
    assert 'aria-sort="descending"' in page
    assert "sort=-score" in page, "another click reverses the order"


def test_a_run_shows_scores_failures_and_where_it_comes_from(nights):
    """Its page has the report's sections, links to its samples, its settings, and the runs before and after it."""
    record = records(nights.get("/", model="falling"))[0]
    page = nights.get(f"/runs/{record}")
    for text in ("30.0 %", "Failures", "exception", "Domains", "Where it comes from", record):
        assert text in text_of(page)
    assert f'href="/samples?run={record}&amp;status=%21pass"' in page
    assert f'href="/samples?run={record}&amp;kind=exception"' in page
    earlier = records(nights.get("/", model="falling"))[1]
    assert f"/runs/{earlier}" in page
    assert f"run={record}&amp;run={earlier}" in page


def test_a_comparison_says_who_is_better_and_on_which_tasks(nights):
    """Two runs in the address: the paired test's verdict, and each task that differs with both outcomes."""
    later, earlier = records(nights.get("/", model="falling"))[:2]
    page = nights.get("/compare", run=[later, earlier])
    text = text_of(page)
    assert "Differences" in text
    assert "McNemar" not in text
    assert "15 tasks of which the two pass different shares" in text
    assert f"/sample?run={later}&amp;task=Demo%2F3" in page
    assert "scores -65.0 points" in text, "figures are in the order of the address"
    assert "scores +65.0 points" in text_of(nights.get("/compare", run=[earlier, later]))
    assert "A comparison needs two runs" in nights.get("/compare", run=later)


def test_a_comparison_of_too_many_runs_is_refused(nights):
    """With what to do instead."""
    page = nights.get("/compare", 422, run=records(nights.get("/"))[:7])
    assert "compare up to 6 here" in text_of(page)


def test_what_got_worse_stands_in_front(nights):
    """The list of runs warns of a drop that chance does not explain; the page of changes has all series."""
    assert "Worse than before:" in text_of(nights.get("/"))
    page = nights.get("/changes")
    text = text_of(page)
    assert "1 of 3 got worse" in text
    first = page.partition("<tbody>")[2].partition("</tr>")[0]
    assert "falling" in first
    assert "14 : 1" in text_of(first)
    assert "worse" in first


def test_trends_draw_each_series_over_the_nights(nights):
    """A chart a board with the series that have two runs; the table has all, and a filter one model."""
    page = nights.get("/trends", model="rising")
    [spec] = [json.loads(one.replace("&#39;", "'")) for one in re.findall(r"data-spec='([^']+)'", page)]
    values = spec["data"]["values"]
    assert [round(one["value"]) for one in values] == [85, 95, 95]
    assert [one["x"] for one in values] == sorted(one["x"] for one in values)
    assert all(one["low"] < one["value"] < one["high"] for one in values)
    assert "steady" not in text_of(page.partition("<tbody>")[2])


def test_samples_are_found_across_runs(nights):
    """By words in task, cause, library and model, all of which must occur, and by phrases."""
    found = text_of(nights.get("/samples", q='keyerror "column 5\'" falling'))
    assert "1 found" in found
    assert "Demo/5" in found
    assert "test_5: KeyError: 'column 5'" in found.replace("&#39;", "'")
    assert "0 found" in text_of(nights.get("/samples", q="falling numpy no-such-word"))
    numpy = text_of(nights.get("/samples", q="numpy falling", status="!pass"))
    assert "7 found" in numpy


def test_samples_are_filtered(nights):
    """By run, status, cause, difficulty and share of passes here; the statuses are counted."""
    record = records(nights.get("/", model="falling"))[0]
    first = text_of(nights.get("/samples", run=record))
    assert "20 found" in first
    assert text_of(nights.get("/samples", run=record, page="99")) == first, "a page beyond the last is the last"
    assert "14 found" in text_of(nights.get("/samples", run=record, status="fail"))
    assert "14 found" in text_of(nights.get("/samples", run=record, kind="exception"))
    assert "0 found" in text_of(nights.get("/samples", status="timeout"))
    assert "instruct" in text_of(nights.get("/samples", split="instruct"))
    assert "0 found" in text_of(nights.get("/samples", run=record, difficulty="hard")), "nobody published these tasks"
    found = [
        int(re.search(r"(\d+) found", text_of(nights.get("/samples", run=record, passed=passed)))[1])
        for passed in ("never", "sometimes", "always")
    ]
    assert sum(found) == 20
    assert found[0] <= 14


def test_programs_of_one_run_are_searched_too(nights):
    """What stands in the program alone is found where the reader asks for it."""
    record = records(nights.get("/", model="falling"))[0]
    phrase = {"run": record, "q": '"# falling 7"'}
    assert "0 found" in text_of(nights.get("/samples", **phrase))
    assert "1 found" in text_of(nights.get("/samples", **phrase, deep="1"))
    assert "2 found" in text_of(nights.get("/samples", run=record, q="# falling 7", deep="1")), (
        "words, also of number 17"
    )
    assert "0 found" in text_of(nights.get("/samples", **phrase, deep="1", difficulty="hard"))
    assert "1 found" in text_of(nights.get("/samples", run=record, q="Demo/5", deep="1")), (
        "what the search of all runs finds, too"
    )


def test_a_sample_tells_its_whole_story(nights):
    """Prompt, answer, program, verdict, trace, tests, ground truth, times, neighbours and the same task elsewhere."""
    record = records(nights.get("/", model="falling"))[0]
    page = nights.get("/sample", run=record, task="Demo/5")
    text = text_of(page)
    for part in (
        "KeyError",
        "# falling 5",
        "Solve Demo/5.",
        "Here it is:",
        "ground truth: pass",
        "executed",
        "1.0 s of CPU",
        "64 MiB at most",
        "This task in other runs",
        "bigcodeflow inspect",
    ):
        assert part in text, part
    assert 'rel="prev"' in page
    assert "Demo%2F4" in page
    assert "Demo%2F6" in page
    assert "steady" in text.partition("This task in other runs")[2]


def test_neighbours_of_a_sample_are_those_of_its_run(explore):
    """The nearest tasks that failed, in the order of the run's own dataset, whatever another one's order is."""
    record = record_night(explore.recorded, "m", {3, 5, 7, 9})
    tables = explore.recorded.tables()
    tables.task("Demo/9")
    tables.sample("Demo/9")
    explore.recorded.record(tables, model="other")
    explore.rebuild()
    page = explore.get("/sample", run=record, task="Demo/7")
    assert re.findall(r'rel="(?:prev|next)" href="[^"]*task=Demo%2F(\d+)', page) == ["5", "9"]


def test_runs_in_progress_are_shown_with_what_they_execute(explore):
    """Stage, counts, what is left, and each sample with its time and limit; one that is silent says since when."""
    moment = datetime.now(UTC).isoformat()
    folder = explore.recorded.root / "live"
    folder.mkdir()
    run = {"run_id": "a", "name": "gpt · hard", "pid": 7, "host": "box", "started_at": moment, "updated_at": moment}
    run |= {"stage": "execution", "done": 30, "total": 120, "eta_seconds": 900.0, "model": "gpt", "split": "complete"}
    executing = {"task_id": "Demo/1", "variant": "raw", "sample_id": 3, "since": moment, "limit_seconds": 60}
    (folder / "a.json").write_text(json.dumps(run | {"executing": [executing]}))
    old = {
        "run_id": "b",
        "started_at": "2026-11-24T10:00:00Z",
        "updated_at": datetime.now(UTC).isoformat()[:11] + "00:00:00Z",
    }
    (folder / "b.json").write_text(json.dumps(old))
    (folder / "torn.json").write_text('{"run_id"')
    text = text_of(explore.get("/live"))
    for part in ("gpt · hard", "execution", "30 of 120", "min", "Demo/1", "60", "box, process 7"):
        assert part in text, part
    assert "gpt · hard" in text_of(explore.get("/"))


def live_run(recorded, **more):
    """Write the file of a run in progress."""
    folder = recorded.root / "live"
    folder.mkdir(exist_ok=True)
    moment = datetime.now(UTC).isoformat()
    run = {"run_id": "a", "name": "gpt", "started_at": moment, "updated_at": moment} | more
    (folder / f"{run['run_id']}.json").write_text(json.dumps(run))
    return folder


def test_a_run_in_progress_shows_its_score_so_far(explore):
    """With its interval, failures by kind and the last lines of its log; what was not judged does not count."""
    live_run(explore.recorded, outcomes={"": 30, "wrong_api": 9, "timeout": 1, "infrastructure": 5}, log=["10:00 <hi>"])
    text = text_of(explore.get("/live"))
    for part in ("75.0 %", "59.1 to 86.3 of 40", "wrong api 9", "timeout 1", "10:00 &lt;hi&gt;"):
        assert part in text, part


def test_only_the_explorer_s_own_page_cancels_a_run(explore):
    """A form of another site, or of no site, gets nothing; where others may look there is no button."""
    folder = live_run(explore.recorded)
    assert 'action="/live/a/cancel"' in explore.get("/live")
    for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        assert explore.client.post("/live/a/cancel", headers=headers).status_code == 403
    assert not (folder / "a.cancel").exists()
    own = {"Origin": explore.url}
    assert explore.client.post("/live/a/cancel", headers=own).status_code == 303
    assert (folder / "a.cancel").exists()
    assert explore.client.post("/live/b/cancel", headers=own).status_code == 404
    with exploring(explore.recorded, host="0.0.0.0", build=False) as reachable:
        assert reachable.client.post("/live/a/cancel", headers={"Origin": reachable.url}).status_code == 404
        assert "/cancel" not in reachable.get("/live")


@pytest.fixture
def ended(explore):
    """An explorer of a recorded run, of one that crashed, and of one that was killed a moment ago."""
    record_night(explore.recorded, "one", {1}, n_tasks=3)
    state = {"run_id": "x", "name": "gpt", "model": "gpt", "started_at": "2026-03-02T00:00:00Z", "updated_at": now()}
    state |= {"stage": "execution", "done": 3, "total": 9, "log": ["10:00 <hi>"], "config": {"name": "n"}}
    keep_ended(explore.recorded.root, LiveState(**state, outcome="crashed", error="disk <full>"))
    process = subprocess.Popen(["true"])
    process.wait()
    live_run(explore.recorded, run_id="k", name="slain", pid=process.pid, host=socket.gethostname())
    explore.rebuild()
    return explore


def test_runs_without_a_record_have_a_page_of_their_end(ended):
    """Outcome, stage, error and log; a killed run is among them at once, and not in progress."""
    assert rows(ended.get("/"))[:2] == ["slain", "gpt"]
    page = text_of(ended.get("/runs/x"))
    for part in ("crashed", "execution , 3 of 9", "disk &lt;full&gt;", "10:00 &lt;hi&gt;", "ended without a record"):
        assert part in page.replace("execution,", "execution ,"), part
    assert "its process was killed" in text_of(ended.get("/runs/k"))
    assert "slain" not in ended.get("/live")


def test_a_run_is_deleted_after_a_question(ended):
    """The page lists what goes; another site's form, a run in progress, and who only looks get nothing."""
    [record], own = records(ended.get("/")), {"Origin": ended.url}
    assert f'href="/runs/{record}/delete"' in ended.get(f"/runs/{record}")
    asked = text_of(ended.get(f"/runs/{record}/delete"))
    for part in ("Delete this run?", f"runs/{record}.json", "execution/", "answers"):
        assert part in asked, part
    assert ended.client.post(f"/runs/{record}/delete").status_code == 403
    going = live_run(ended.recorded) / "a.json"
    refused = ended.client.post(f"/runs/{record}/delete", headers=own)
    assert (refused.status_code, "a run is in progress" in refused.text) == (409, True)
    assert "This run goes on" in ended.client.post("/runs/a/delete", headers=own).text
    going.unlink()
    for one in (record, "x"):
        assert ended.client.post(f"/runs/{one}/delete", headers=own).status_code == 303
    live_run(ended.recorded, run_id="k", name="slain")
    assert rows(ended.get("/")) == []
    assert not recorded_runs(ended.recorded.root)
    assert ended.client.post(f"/runs/{record}/delete", headers=own).status_code == 404
    with exploring(ended.recorded, host="0.0.0.0", build=False) as reachable:
        assert reachable.client.post("/runs/x/delete", headers={"Origin": reachable.url}).status_code == 404


def test_a_retry_that_cannot_begin_says_why(ended):
    """A run with the same settings in progress, another site's form, and the message of the command itself."""
    own, config = {"Origin": ended.url}, {"name": "n", "dataset": {"source": "x@1"}}
    assert 'href="/runs/x/retry"' in ended.get("/runs/x")
    assert "Retry this run?" in text_of(ended.get("/runs/x/retry"))
    assert ended.client.post("/runs/x/retry").status_code == 403
    keep_ended(ended.recorded.root, LiveState(run_id="x", started_at=now(), updated_at=now(), config=config))
    going = live_run(ended.recorded, config=config | {"out": "o", "dataset": {"source": "x"}}) / "a.json"
    assert "is in progress since" in text_of(ended.get("/runs/x/retry", 409))
    going.unlink()
    keep_ended(ended.recorded.root, LiveState(run_id="x", started_at=now(), updated_at=now(), config={"name": "/"}))
    refused = ended.client.post("/runs/x/retry", headers=own)
    assert (refused.status_code, "settings of run x: name" in refused.text) == (409, True), text_of(refused.text)


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.usefixtures("starter_environment")
def test_a_crashed_run_is_retried(ended, monkeypatch, tmp_path):
    """In a process of its own; the page of runs in progress shows it, and in the end it is recorded."""
    monkeypatch.chdir(tmp_path)
    settings = {"name": "again", "store": str(ended.recorded.root), "samples.source": "stub", "dataset.ids": "0-1"}
    config = load_config(None, (), settings).model_dump(mode="json")
    keep_ended(ended.recorded.root, LiveState(run_id="x", started_at=now(), updated_at=now(), config=config))
    found = ended.client.post("/runs/x/retry", headers={"Origin": ended.url})
    assert found.status_code == 303, text_of(found.text)
    wait_for(lambda: any(run.run == "again" for run in recorded_runs(ended.recorded.root)), "the record")
    wait_for(lambda: not any(run.run_id == "x" for run in ended_runs(ended.recorded.root)), "its end")


def test_labels_are_written_by_the_run_s_own_form(explore):
    """The run has them at once; empty fields remove them, and other sites' forms do nothing."""
    record, own = record_night(explore.recorded, "one", {1}, n_tasks=3), {"Origin": explore.url}
    explore.rebuild()
    place = f"/runs/{record}/labels"
    assert f'action="{place}"' in explore.get(f"/runs/{record}")
    form = {"name": "mine", "tags": "a, b,a,", "note": "<why> & how", "archived": "on"}
    assert explore.client.post(place, data=form).status_code == 403
    assert explore.client.post("/runs/none/labels", data=form, headers=own).status_code == 404
    assert explore.client.post(place, data=form, headers=own).status_code == 303
    [run] = recorded_runs(explore.recorded.root)
    assert (run.run, run.labels.tags, run.labels.note) == ("mine", ("a", "b"), "<why> & how")
    assert rows(explore.get("/")) == []
    assert rows(explore.get("/", archived="1")) == ["one · full · complete"]
    assert explore.client.post(place, data={"name": "", "note": ""}, headers=own).status_code == 303
    assert not list(explore.recorded.root.glob("labels/*"))
    with exploring(explore.recorded, host="0.0.0.0", build=False) as reachable:
        assert reachable.client.post(place, data=form, headers={"Origin": reachable.url}).status_code == 404
        assert "/labels" not in reachable.get(f"/runs/{record}")


def test_labels_archive_and_failed_runs_are_listed(explore):
    """Names, tags and notes as people gave them; archived runs on request; crashed ones with their error."""
    first, second = (record_night(explore.recorded, model, {1}, n_tasks=3) for model in ("one", "two"))
    RunLabels(name="my name", tags=("t<1>",), note="why & how").write(explore.recorded.store, first)
    RunLabels(archived=True).write(explore.recorded.store, second)
    state = {"run_id": "x", "name": "gpt", "model": "gpt", "started_at": "2026-03-02T00:00:00Z", "updated_at": now()}
    keep_ended(explore.recorded.root, LiveState(**state, outcome="crashed", error="=1 + 1"))
    explore.rebuild()
    page = explore.get("/")
    for part in ("my name", "t&lt;1&gt;", "why &amp; how", "crashed", "=1 + 1", "2 runs"):
        assert part in text_of(page), part
    assert rows(page) == ["gpt", "one · full · complete"]
    assert rows(explore.get("/", archived="1"))[1] == "two · full · complete"
    assert rows(explore.get("/", tag="t<1>")) == ["one · full · complete"]
    assert "archived" in explore.get(f"/runs/{second}")
    trends = explore.get("/trends")
    assert (">one</a>" in trends, ">two</a>" in trends) == (True, False)
    listed = list(csv.DictReader(io.StringIO(explore.get("/runs.csv"))))
    assert [(row["name"], row["outcome"], row["tags"]) for row in listed] == [
        ("gpt", "crashed", ""),
        ("my name", "finished", "t<1>"),
    ]
    assert listed[0]["error"] == "'=1 + 1", "no cell is a formula"


def test_raw_verdicts_are_shown_where_they_differ(explore):
    """One line for a sample that both variants judge alike, two where they do not."""
    tables = explore.recorded.tables()
    for task in ("Demo/1", "Demo/2"):
        tables.task(task)
    tables.sample("Demo/1", variants=("calibrated", "raw"))
    tables.sample("Demo/2")
    tables.verdict("Demo/2", "fail", variant="raw", kind="exception")
    explore.recorded.record(tables)
    explore.rebuild()
    for variant, count in {"": 3, "all": 4, "raw": 2, "calibrated": 2}.items():
        assert f"{count} found" in text_of(explore.get("/samples", variant=variant))


def test_the_source_of_a_failing_test_is_beside_its_trace(explore):
    """Numbered as tracebacks count; a test that cannot be parsed has none."""
    test = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_a(self):\n        self.check(1)\n"
    for text in (test, "def test_a(:"):
        tables = explore.recorded.tables()
        tables.task("Demo/1", texts={"test": text})
        tables.sample("Demo/1", "fail", solution="x = 1\n")
        record = explore.recorded.record(tables)
        explore.rebuild()
        page = explore.get("/sample", run=record, task="Demo/1")
        assert ("test_a: source" in page) == (text == test)


def test_a_trend_within_a_day_has_times_on_its_axis(nights):
    """Charts of one page share the scale of scores."""
    specs = [json.loads(one.replace("&#39;", "'")) for one in re.findall(r"data-spec='([^']+)'", nights.get("/trends"))]
    axis = specs[0]["encoding"]["x"]["axis"]
    assert axis["format"] == "%H:%M"
    assert "UTC" in specs[0]["encoding"]["x"]["title"]
    scales = [layer["encoding"]["y"]["scale"]["domain"] for spec in specs for layer in spec["layer"]]
    assert scales == [[10.0, 100.0]] * len(scales)


def test_a_run_of_the_hard_tasks_is_beside_the_leaderboard(explore):
    """With the tasks that cannot be passed here, and both figures over the others."""
    tables = explore.recorded.tables()
    for number in range(148):
        tables.task(f"Demo/{number}", ground_truth="fail" if number in (146, 147) else "pass")
        tables.sample(f"Demo/{number}", "pass" if number < 37 else "fail", solution="x = 1\n")
    config = {"dataset": {"split": "complete", "subset": "hard"}}
    record = explore.recorded.record(tables, model="Artigenz-Coder-DS-6.7B", config=config)
    explore.rebuild()
    text = text_of(explore.get(f"/runs/{record}").partition("Beside the leaderboard")[2].partition("</section>")[0])
    # 24 of 148 are published: all of them, or all but two, are among the other 146.
    for part in ("Demo/146, Demo/147", "25.0 %", "16.2 %", "25.3 %", "15.1 to 16.4"):
        assert part in text, part


def test_an_empty_store_says_how_to_begin(explore):
    """Every page answers before the first run has ended."""
    assert "No run is recorded" in explore.get("/")
    for path in ("/live", "/changes", "/trends", "/samples", "/compare"):
        explore.get(path)


@pytest.mark.slow
def test_a_run_that_ends_is_shown_at_once_and_one_whose_tables_are_gone_says_so(explore):
    """The catalog is replaced under the explorer, which opens the new one; what is gone is one line with a remedy."""
    record = record_night(explore.recorded, "first", {1})
    explore.rebuild()
    assert rows(explore.get("/")) == ["first · full · complete"]
    record_night(explore.recorded, "second", {1})
    explore.rebuild()
    assert rows(explore.get("/"))[0] == "second · full · complete"
    assert "40 found" in text_of(explore.get("/samples"))
    for path in explore.recorded.root.glob("aggregation/*/*.parquet"):
        path.unlink()
    assert "run it again" in text_of(explore.get(f"/runs/{record}"))


def test_a_catalog_of_an_earlier_version_says_what_to_do(explore):
    """It lacks a table that pages read; one command builds it again."""
    explore.recorded.record_one()
    explore.rebuild()
    with duckdb.connect(explore.recorded.root / "results.duckdb") as catalog:
        catalog.execute("DROP TABLE stored.verdicts")
    assert "build it again with `bigcodeflow catalog" in text_of(explore.get("/", 409))


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/runs/no-such-record", 404, "no run of the record"),
        ("/runs/..%2F..%2Fetc", 404, "no"),
        ("/sample?run=nothing&task=Demo/1", 404, "no run of the record"),
        ("/samples?page=x", 422, "is not a whole number"),
        ("/?since=yesterday", 422, "is not a date"),
        ("/nothing", 404, "no such page"),
        ("/assets/../app.py", 404, ""),
        ("/assets/app.py", 404, "no such file"),
    ],
)
def test_addresses_that_lead_nowhere_say_why(nights, path, status, says):
    """A status that fits, one sentence, and no traceback."""
    found = nights.client.get(path)
    assert found.status_code == status
    assert says in text_of(found.text)
    assert "Traceback" not in found.text


def test_hostile_texts_stay_texts(explore):
    """Names, answers, programs and traces that are markup, scripts or reversed text are shown as they are spelled."""
    tables = explore.recorded.tables()
    task = f"Demo/{HOSTILE}"
    tables.task(task, libs=[HOSTILE], domains=[HOSTILE], texts={"complete_prompt": HOSTILE, "test": HOSTILE})
    trace = f"Traceback (most recent call last):\nError: {HOSTILE}\u202e"
    failing = {"name": HOSTILE, "outcome": "fail", "seconds": 0.1, "trace": trace}
    tables.sample(task, "fail", kind=HOSTILE, answer=HOSTILE, solution=HOSTILE, tests=[failing], stdout="\x1b[2J")
    record = explore.recorded.record(tables, model=f"m {HOSTILE}", run="r")
    explore.rebuild()
    pages = [explore.get("/"), explore.get(f"/runs/{record}"), explore.get("/samples"), explore.get("/trends")]
    pages.append(explore.get("/sample", run=record, task=task))
    for page in pages:
        assert "<img" not in page
        assert "<script>" not in page
        assert not re.search(r"<svg[ /]+onload", page)
        assert "\u202e" not in page
        assert "\x1b" not in page
    assert "&lt;img src=x" in pages[-1]
    assert "\\u202e" in pages[-1]
    assert CANARIES[0].partition(" ")[0] not in pages[-1]


def test_only_this_machine_s_own_name_is_answered(nights):
    """A site whose name leads to 127.0.0.1 gets nothing; every response has the headers of a careful page."""
    port = nights.client.base_url.port
    for host, status in (("evil.example", 403), (f"localhost:{port}", 200), ("127.0.0.1", 200), ("", 403), ("[", 403)):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.putrequest("GET", "/", skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        assert connection.getresponse().status == status, host
        connection.close()
    headers = nights.client.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "immutable" in nights.client.get("/assets/explorer.css").headers["cache-control"]


def test_a_machine_that_others_reach_answers_to_its_address(recorded):
    """Where it listens for others, numbers and the machine's name are its own, and names of sites are not."""
    with exploring(recorded, host="0.0.0.0", build=False) as explored:
        ask = explored.client.get
        assert ask("/", headers={"Host": "192.0.2.7:80"}).status_code == 200
        assert ask("/", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_only_reads(nights, method):
    """Pages take nothing."""
    for path in ("/", "/samples", "/compare", "/runs.csv"):
        assert nights.client.request(method, path, content=b"x").status_code == 405


@pytest.mark.slow
def test_several_samples_of_a_task_are_compared_by_their_shares(explore):
    """Shares of passing samples are paired over tasks; what both pass alike is no change."""
    for night in range(2):
        tables = explore.recorded.tables()
        for number in range(30):
            tables.task(f"Demo/{number}")
            for index in range(4):
                passes = index < (3 if night == 0 or number < 5 else 1)
                tables.sample(f"Demo/{number}", "pass" if passes else "fail", index=index)
        explore.recorded.record(tables, model="m", run="m", k=(1, 4))
    explore.rebuild()
    text = text_of(explore.get("/changes"))
    assert "1 of 1 got worse" in text
    assert "25 : 0" in text
    assert "3 of 4 pass" in text_of(explore.get("/compare", run=records(explore.get("/"))))
