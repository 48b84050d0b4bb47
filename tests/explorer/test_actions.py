"""What the explorer's forms change: runs are cancelled, labelled, deleted and retried; and pages of runs that ended."""

import csv
import io
import json
import socket
import subprocess
from datetime import UTC, datetime

import pytest

from bigcodeflow.config import load_config
from bigcodeflow.explorer.pages import now
from bigcodeflow.pipeline.live_files import LiveState, ended_runs, keep_ended
from bigcodeflow.results.runs import RunLabels, recorded_runs
from tests.explorer.conftest import exploring, record_night, records, rows, text_of
from tests.prefect_service.services import wait_for


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
    for part in ("75.0 % of 40", "95 % interval 59.1 to 86.3", "wrong api 9", "timeout 1", "10:00 &lt;hi&gt;"):
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
    for part in ("Delete this run?", f"runs/{record}"[:24], "execution/", "answers"):
        assert part in asked, part
    assert ended.client.post(f"/runs/{record}/delete").status_code == 403
    going = live_run(ended.recorded) / "a.json"
    refused = ended.client.post(f"/runs/{record}/delete", headers=own)
    assert (refused.status_code, "a run is in progress" in refused.text) == (409, True)
    assert "This run is in progress" in ended.client.post("/runs/a/delete", headers=own).text
    going.unlink()
    for one in (record, "x"):
        assert ended.client.post(f"/runs/{one}/delete", headers=own).status_code == 303
    live_run(ended.recorded, run_id="k", name="slain")
    assert rows(ended.get("/")) == []
    assert not recorded_runs(ended.recorded.root)
    assert ended.client.post(f"/runs/{record}/delete", headers=own).status_code == 404
    with exploring(ended.recorded, host="0.0.0.0", build=False) as reachable:
        assert reachable.client.post("/runs/x/delete", headers={"Origin": reachable.url}).status_code == 405


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
