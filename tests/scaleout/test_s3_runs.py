"""Whole runs with the store on S3: the same rows as in a folder, reused and resumed from any machine."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all, planned_run
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.recording import begin_run, record_run
from bigcodeflow.report import select_runs, write_report
from bigcodeflow.results.runs import find_run
from bigcodeflow.store import open_store
from tests.conftest import ROOT
from tests.doubles.listeners import RecordingListener
from tests.scaleout.hosts import wait_for

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.usefixtures("starter_environment"),
    pytest.mark.filterwarnings("default"),
]

_MEASURED = ("wall_seconds", "cpu_seconds", "test_cpu_seconds", "max_rss_mib", "stderr", "stdout")


def config_of(store: str, folder: Path, ids: str = "0-2", **execution: object) -> RunConfig:
    settings = {
        "store": store,
        "out": str(folder / "out"),
        "dataset": {"source": "starter", "ids": ids},
        "samples": {"source": "starter"},
        "execution": {"environment": "starter", "workers": 1, "limits": {"time_seconds": 20}} | execution,
    }
    return load_settings(settings, "test")


def rows_of(config: RunConfig, artifacts: RunArtifacts) -> dict[str, list[dict]]:
    """Every table of a run, without what is measured."""
    store = open_store(config.store)
    return {
        name: [
            {key: _outcome(value) for key, value in row.items() if key not in _MEASURED}
            for row in store.read(ref).to_pylist()
        ]
        for name, ref in artifacts.by_stage.items()
    }


def _outcome(value: object) -> object:
    """A test's outcome without its duration."""
    if isinstance(value, list) and value and isinstance(value[0], dict) and "seconds" in value[0]:
        return [{key: one[key] for key in ("name", "outcome")} for one in value]
    return value


@pytest.mark.slow
def test_a_run_on_s3_equals_one_in_a_folder(s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and rows of every table are the same, another machine reuses all of it, and its files and catalog are whole."""
    there, here = config_of(s3_url, tmp_path), config_of(str(tmp_path / "folder"), tmp_path)
    first, local = perform_all(resolve(there), RecordingListener()), perform_all(resolve(here), RecordingListener())
    assert [ref.key for ref in first.by_stage.values()] == [ref.key for ref in local.by_stage.values()]
    assert rows_of(there, first) == rows_of(here, local)
    record_run(begin_run(there, resolve), first)
    reports = [write_report(select_runs(s3_url, ["latest"]), tmp_path / "first.html").path.read_bytes()]
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "another machine"))
    reports.append(write_report(select_runs(s3_url, ["latest"]), tmp_path / "second.html").path.read_bytes())
    one, other = (re.sub(rb'"written_at":"[^"]*"', b"", report) for report in reports)
    assert one == other
    again = RecordingListener()
    assert perform_all(resolve(there), again) == first
    assert planned_run(resolve(there)) == (first, ())
    assert again.computed == []
    run = find_run(s3_url, "latest")
    assert run.keys["execution"] == first.execution.key
    assert run.path("execution").is_file()
    outputs = record_run(begin_run(there, resolve), first).outputs
    assert (tmp_path / "another machine") in outputs.catalog.parents
    assert all(path.is_file() for path in outputs.files)


def _slow_samples(folder: Path, count: int) -> Path:
    task = json.loads((ROOT / "data/starter/tasks.jsonl").read_text().splitlines()[0])
    path = folder / "slow.jsonl"
    with path.open("w") as file:
        for number in range(count):
            solution = f"import time\ntime.sleep(0.4)  # {number}\n" + task["code_prompt"] + "\n    return None\n"
            file.write(json.dumps({"task_id": task["task_id"], "solution": solution}) + "\n")
    return path


def _evaluation(samples: Path, store: str, out: Path | str, *settings: str) -> list[str]:
    command = [str(Path(sys.executable).with_name("bigcodeflow")), "evaluate", "--samples", str(samples)]
    command += ["--dataset", "starter", "--ids", "0", "--workers", "1", "--out", str(out), "--store", store]
    return [*command, *(f"--set={setting}" for setting in settings)]


def _evaluate(samples: Path, store: str, machine: Path) -> "subprocess.Popen[bytes]":
    machine.mkdir(exist_ok=True)
    return subprocess.Popen(
        _evaluation(samples, store, "out", "execution.slots_per_worker=1"), cwd=machine,
        env=os.environ | {"BIGCODEFLOW_REPLICAS": str(machine / "replicas")},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


@pytest.mark.slow
def test_a_killed_run_goes_on_on_another_machine(s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept before the first machine was lost is not executed again, and every sample has its verdict."""
    samples = _slow_samples(tmp_path, 40)
    process = _evaluate(samples, s3_url, tmp_path / "lost")
    remote = open_store(s3_url).bucket
    assert remote is not None

    def segments() -> list[str]:
        return [name for name in remote.objects("execution") if ".partial/" in name]

    wait_for(lambda: len(segments()) >= 2, "two segments")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    texts = [remote.read(f"execution/{name}") or b"" for name in segments()]
    lines = [json.loads(line) for text in texts for line in text.splitlines()]
    kept = {line["verdict_key"]: line["wall_seconds"] for line in lines}
    assert 0 < len(kept) < 40
    assert _evaluate(samples, s3_url, tmp_path / "other").wait() == 0
    monkeypatch.setenv("BIGCODEFLOW_REPLICAS", str(tmp_path / "other" / "replicas"))
    run = find_run(s3_url, "latest")
    store = open_store(s3_url)
    ref = store.find("execution", run.keys["execution"])
    assert ref is not None
    rows = store.read(ref).to_pylist()
    assert len({row["verdict_key"] for row in rows}) == 40
    assert kept.items() <= {row["verdict_key"]: row["wall_seconds"] for row in rows}.items()
    assert ref.statistics["executed_twice"] == 0
    assert segments() == []


@pytest.mark.slow
def test_runs_at_once_share_one_store(s3_url: str, tmp_path: Path) -> None:
    """Two machines evaluate the same and other samples at the same time: both end well, and each artifact is whole."""
    samples = _slow_samples(tmp_path, 6)
    processes = [_evaluate(samples, s3_url, tmp_path / name) for name in ("one", "other")]
    threads = [threading.Thread(target=process.wait) for process in processes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.returncode for process in processes] == [0, 0]
    store = open_store(s3_url)
    for stage in ("dataset", "generation", "sanitizing", "execution", "aggregation"):
        parts = store.published(stage)
        assert parts
        assert all(store.find(stage, part.parent.name) for part in parts)
