"""The explorer's pages over loopback, on a store of small real tables."""

import http.client
import json
import re
from datetime import UTC, datetime

import duckdb
import pytest

from bigcodeflow.explorer.catalog import Catalog
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.runs import RunLabels
from bigcodeflow.store import open_store
from tests.explorer.conftest import exploring, record_night, records, rows, text_of
from tests.report.test_browser import CANARIES, HOSTILE

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


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
    assert axis["tickMinStep"] == 60_000  # or two ticks had the same label
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


def test_a_run_of_some_tasks_is_shown_and_ranked_apart(explore):
    """Its title says how many it has, in the list, on its page and among the trends."""
    record_night(explore.recorded, "alpha", {1})
    record = record_night(explore.recorded, "alpha", {1}, n_tasks=5, selection="5 of 148 tasks")
    explore.rebuild()
    title = "alpha · full · complete · 5 of 148 tasks"
    assert rows(explore.get("/")) == [title, "alpha · full · complete"]
    assert f"<h1>{title}</h1>" in explore.get(f"/runs/{record}")
    assert "full · complete · 5 of 148 tasks</h2>" in explore.get("/trends")


def test_archived_runs_are_offered_if_there_are_no_others(explore):
    """The list is not called empty."""
    record = record_night(explore.recorded, "alpha", {1})
    RunLabels(archived=True).write(open_store(explore.recorded.root), record)
    explore.rebuild()
    page = explore.get("/")
    assert "No run is recorded" not in page
    assert 'href="/?archived=1"' in page


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


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE runs DROP COLUMN selection",
        "CREATE OR REPLACE TABLE stored.version AS SELECT 1; DROP TABLE stored.verdicts",
    ],
)
def test_a_catalog_of_an_earlier_version_is_built_again(recorded, change):
    """It lacks a table or a column that pages read."""
    record_night(recorded, "first", {1})
    rebuild_catalog(recorded.root)
    with duckdb.connect(recorded.root / "results.duckdb") as catalog:
        catalog.execute(change)
    assert [run.run for run in Catalog(recorded.root).version().runs] == ["first"]


def test_a_damaged_catalog_says_what_to_do(explore):
    """One command builds it again."""
    explore.recorded.record_one()
    explore.rebuild()
    (explore.recorded.root / "results.duckdb").write_bytes(b"no database")
    assert "build it again with `bigcodeflow catalog" in text_of(explore.get("/", 409))


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/runs/no-such-record", 404, "no run with the record"),
        ("/runs/..%2F..%2Fetc", 404, "no"),
        ("/sample?run=nothing&task=Demo/1", 404, "no run with the record"),
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
