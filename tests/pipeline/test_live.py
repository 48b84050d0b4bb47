"""The live file of a run: there while it runs, true, and gone afterwards, however the run ended."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.errors import DatasetError, SamplesError
from bigcodeflow.core.progress import OpenItem, Status
from bigcodeflow.pipeline import live
from bigcodeflow.pipeline.live import LiveRun
from bigcodeflow.pipeline.live_files import ended_runs, live_runs, remove_left_over, request_cancellation
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.store import open_store
from tests.conftest import ROOT
from tests.doubles.listeners import RecordingListener
from tests.endtoend.conftest import write_samples
from tests.prefect_service.services import wait_for


class Shown:
    """A listener that notes what it is shown."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def begin(self, _title: str) -> Callable[..., None]:
        return lambda *call: self.calls.append(call)

    def end(self, *_: object, **__: object) -> None:
        pass


def config_in(folder: Path, **settings: Any) -> RunConfig:
    return load_config(None, (), {"store": str(folder / "store"), "out": str(folder / "out"), **settings})


def files(folder: Path) -> list[Path]:
    return sorted((folder / "store" / "live").glob("*"))


def test_the_file_holds_what_the_run_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run, process, stage at work, and the executions that take longest; afterwards there is none."""
    monkeypatch.setattr(live, "_SECONDS_BETWEEN_WRITES", 0.05)
    since = datetime.now(UTC) - timedelta(seconds=43)
    config = config_in(tmp_path, **{"samples.source": "oracle", "dataset.split": "instruct"})
    with LiveRun(config, open_store(config.store), "the-id") as run:
        [path] = files(tmp_path)
        assert path.name == "the-id.json"
        assert json.loads(path.read_bytes())["stage"] == ""
        report = run.watched(Shown()).begin("execution")
        status = Status(3, [OpenItem("T/1", since, 241.0, "raw", 0), OpenItem("T/2", since, 241.0)], 60.0)
        report(12, 80, "some words", status)
        content = wait_for(lambda: (found := json.loads(path.read_bytes()))["stage"] and found, "a stage")
    assert files(tmp_path) == []
    expected = {"run_id": "the-id", "name": "oracle · full · instruct", "pid": os.getpid()}
    expected |= {"host": socket.gethostname()}
    expected |= {"stage": "execution", "done": 12, "total": 80, "eta_seconds": 60.0, "note": "some words", "open": 3}
    expected |= {"model": "oracle", "split": "instruct", "subset": "full"}
    assert {name: content[name] for name in expected} == expected
    assert [one["variant"] for one in content["executing"]] == ["raw", "check"]
    first = content["executing"][0]
    assert (first["task_id"], first["sample_id"], first["limit_seconds"]) == ("T/1", 0, 241.0)
    assert abs(datetime.fromisoformat(first["since"]) - since) < timedelta(seconds=0.01)
    for name in ("started_at", "updated_at"):
        assert datetime.fromisoformat(content[name]).tzinfo == UTC


def test_the_stage_that_others_wait_for_comes_first(tmp_path: Path) -> None:
    """While a model answers, what came is executed: the stage is generation, and what executes is shown all the same."""
    since = datetime.now(UTC)
    with LiveRun(config_in(tmp_path), open_store(tmp_path / "store")) as run:
        for title, status in (("execution", Status(1, [OpenItem("T/1", since, 1.0)])), ("generation", Status())):
            run.begin(title, lambda *_: None)(1, 2, "", status)
        content = run.content()
        assert (content.stage, len(content.executing)) == ("generation", 1)
        run.begin("ground truth", lambda *_: None)(0, 2)
        run.finish("generation")
        assert run.content().stage == "execution", "ground truths that have not begun are not shown first"


@pytest.mark.parametrize("error", [DatasetError("no such task"), KeyboardInterrupt()])
def test_the_file_goes_with_any_end(tmp_path: Path, error: BaseException) -> None:
    """Also with an error, and with an interruption, which then says what is kept and how to go on."""

    def fail() -> None:
        with LiveRun(config_in(tmp_path), open_store(tmp_path / "store")) as run:
            run.begin("execution", lambda *_: None)(84, 148)
            raise error

    with pytest.raises(type(error)) as raised:
        fail()
    assert files(tmp_path) == []
    [ended] = ended_runs(tmp_path / "store")
    assert (ended.stage, ended.done, ended.config["store"]) == ("execution", 84, str(tmp_path / "store"))
    crashed = isinstance(error, Exception)
    assert (ended.outcome, ended.error) == (("crashed", "no such task") if crashed else ("cancelled", ""))
    if isinstance(error, KeyboardInterrupt):
        assert str(raised.value).startswith("stopped during execution with 84 of 148: finished stages, answers and")
        assert f"{tmp_path / 'store'}; run the same again" in str(raised.value)


@pytest.mark.parametrize(("source", "n_kept"), [("a.jsonl", 0), ("model", 1)])
def test_a_run_whose_samples_were_refused_is_not_kept(tmp_path: Path, source: str, n_kept: int) -> None:
    """It executed nothing, and its message is on the screen; answers of a model were paid for."""

    def refuse() -> None:
        config = config_in(tmp_path, **{"samples.source": source, "generation.model": "openai:m"})
        with LiveRun(config, open_store(tmp_path / "store")) as run:
            run.begin("generation", lambda *_: None)
            raise SamplesError("a.jsonl, line 1: has no task_id")

    with pytest.raises(SamplesError):
        refuse()
    assert len(list(ended_runs(tmp_path / "store"))) == n_kept


def test_an_interruption_counts_nothing_that_has_no_total(tmp_path: Path) -> None:
    """As when the tasks are being loaded."""

    def interrupt() -> None:
        with LiveRun(config_in(tmp_path), open_store(tmp_path / "store")) as run:
            run.begin("dataset", lambda *_: None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        interrupt()
    assert str(raised.value).startswith("stopped during dataset: finished stages")


def test_a_silent_stage_is_shown_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage that says nothing for a while, such as one that waits for a cluster, still gives signs of life."""
    monkeypatch.setattr(live, "_SECONDS_BETWEEN_WRITES", 0.02)
    shown = Shown()
    with LiveRun(config_in(tmp_path), open_store(tmp_path / "store")) as run:
        report = run.watched(shown).begin("execution")
        report(1, 2, "words")
        wait_for(lambda: len(shown.calls) > 3, "reports")
    assert {call[:3] for call in shown.calls} == {(1, 2, "words")}


def test_a_second_attempt_replaces_the_failed_one(tmp_path: Path) -> None:
    """Prefect repeats a flow run under its id; what then succeeds did not crash."""
    store = open_store(tmp_path / "store")
    with pytest.raises(DatasetError), LiveRun(config_in(tmp_path), store, "same"):
        raise DatasetError
    with LiveRun(config_in(tmp_path), store, "same"):
        pass
    assert ended_runs(tmp_path / "store") == []


def test_a_run_is_cancelled_by_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C, with its message; a run that is not there cannot be cancelled."""
    monkeypatch.setattr(live, "_SECONDS_BETWEEN_WRITES", 0.02)
    store = open_store(tmp_path / "store")

    def run_until_cancelled() -> None:
        with LiveRun(config_in(tmp_path), store, "mine"):
            assert request_cancellation(store.root, "mine")
            wait_for(lambda: False, "the interruption")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where pytest runs in the background
    try:
        with pytest.raises(KeyboardInterrupt, match="run the same again"):
            run_until_cancelled()
    finally:
        signal.signal(signal.SIGINT, before)
    assert files(tmp_path) == []
    [ended] = ended_runs(store.root)
    assert ended.log[-1].endswith("cancelled from the explorer")
    assert not request_cancellation(store.root, "mine")
    assert not request_cancellation(store.root, "../ended/mine")


def test_a_background_job_of_a_script_is_cancelled_too(tmp_path: Path) -> None:
    """Shells let these ignore Ctrl-C."""
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from pathlib import Path\n"
        "from tests.pipeline.test_live import LiveRun, config_in, open_store, request_cancellation\n"
        "store = open_store(Path(sys.argv[1]) / 'store')\n"
        "with LiveRun(config_in(Path(sys.argv[1])), store, 'mine'):\n"
        "    request_cancellation(store.root, 'mine')\n"
        "    time.sleep(60)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path], cwd=ROOT, check=False, timeout=50)
    assert done.returncode == -signal.SIGTERM
    assert files(tmp_path) == []
    assert [one.outcome for one in ended_runs(tmp_path / "store")] == ["cancelled"]


def test_the_last_lines_of_the_log_are_shown(tmp_path: Path) -> None:
    """With the stages; those of other runs' times are not kept."""
    with LiveRun(config_in(tmp_path), open_store(tmp_path / "store")) as run:
        run.begin("generation", lambda *_: None)
        for number in range(30):
            logging.getLogger("bigcodeflow.somewhere").warning("line %s\nof two", number)
        lines = run.content().log
    assert lines[-1].endswith("line 29 of two")
    assert len(lines) == 12
    logging.getLogger("bigcodeflow.somewhere").warning("later")
    assert run.content().log == lines


def test_a_full_disk_ends_the_file_and_not_the_run(tmp_path: Path) -> None:
    """Where nothing can be written, there is no file, and the run goes on."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "live").write_text("no folder")
    with LiveRun(config_in(tmp_path), open_store(tmp_path / "store")) as run:
        assert run.content().stage == ""
    assert (tmp_path / "store" / "live").read_text() == "no folder"


def test_a_killed_run_has_ended_at_once(tmp_path: Path) -> None:
    """Also while its parent has not noticed, so that it is a zombie; its file is still that of a run in progress."""
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.pipeline.test_live import LiveRun, config_in, open_store\n"
        "with LiveRun(config_in(Path(sys.argv[1])), open_store(Path(sys.argv[1]) / 'store'), 'mine'):\n"
        "    time.sleep(60)\n"
    )
    root = tmp_path / "store"
    with subprocess.Popen([sys.executable, "-c", program, tmp_path], cwd=ROOT) as process:
        wait_for(lambda: bool(live_runs(root, datetime.now(UTC))), "the run")
        process.kill()
        wait_for(lambda: not live_runs(root, datetime.now(UTC)), "its end")
        assert [(one.run_id, one.outcome) for one in ended_runs(root)] == [("mine", "killed")]
    assert [path.name for path in files(tmp_path)] == ["mine.json"]


def test_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    """Files of processes that are gone, or whose number another one has; not those of living or of other machines."""
    folder, now = tmp_path / "live", datetime.now(UTC)
    folder.mkdir()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()

    def left(name: str, /, **content: Any) -> Path:
        path = folder / f"{name}.json"
        run = {
            "run_id": name,
            "host": socket.gethostname(),
            **dict.fromkeys(("started_at", "updated_at"), now.isoformat()),
        }
        path.write_text(json.dumps(run | content))
        return path

    left("ended", pid=ended.pid, name="gpt")
    left("reused", pid=os.getpid(), name="llama", started_at=(now - timedelta(days=900)).isoformat())
    old, torn = left("of another machine, long ago", pid=1, host="elsewhere"), folder / ".x.json.1.tmp"
    torn.write_text("{")
    for path in (old, torn):
        os.utime(path, (now.timestamp() - 90_000,) * 2)
    kept = [left("alive", pid=os.getpid()), left("elsewhere", pid=1, host="elsewhere"), folder / "strange.json"]
    kept[-1].write_text("[]")
    killed = [("gpt", "killed"), ("llama", "killed")]
    assert [(one.name, one.outcome) for one in ended_runs(tmp_path)] == killed, "before they are moved"
    remove_left_over(folder)
    assert sorted(folder.iterdir()) == sorted(kept)
    assert [(one.name, one.outcome) for one in ended_runs(tmp_path)] == killed
    remove_left_over(tmp_path / "nowhere")


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("starter_environment")
def test_a_real_run_shows_the_sample_that_takes_longest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of samples that sleep: task, variant, since when, and the limit, while they sleep; counts are of samples."""
    monkeypatch.setattr(live, "_SECONDS_BETWEEN_WRITES", 0.2)
    samples = write_samples(tmp_path / "sleepers.jsonl", 3, sleep_seconds=6.0)
    more = {"dataset.ids": "0-2", "samples.source": str(samples), "sanitizing.mode": "none", "execution.workers": 1}
    more |= {"execution.variants": ["calibrated"], "execution.limits.time_seconds": 20}
    config = config_in(tmp_path, **more)
    run = threading.Thread(target=perform_all, args=(resolve(config), RecordingListener()))
    run.start()

    def executing() -> dict[str, Any] | None:
        found = files(tmp_path)
        content = json.loads(found[0].read_bytes()) if found and found[0].suffix == ".json" else {}
        return content if content.get("stage") == "execution" and content["executing"] else None

    content = wait_for(executing, "an execution")
    run.join()
    assert content["total"] >= 3
    assert content["open"] == len(content["executing"])
    assert {one["task_id"] for one in content["executing"]} <= {"Starter/0", "Starter/1", "Starter/2"}
    [shown] = {(one["variant"], one["sample_id"], one["limit_seconds"]) for one in content["executing"]}
    assert shown == ("calibrated", 0, 21.0)
    assert files(tmp_path) == []
