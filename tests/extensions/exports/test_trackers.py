"""Runs in MLflow and Weights & Biases: what their own clients read back, and what is said where something is missing."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.errors import ConfigError, PublishingError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow_exports.clients import SAMPLE_COLUMNS, log_to_mlflow, log_to_wandb
from bigcodeflow_exports.exported_run import exported_run

from .conftest import serving


@pytest.fixture(scope="module")
def mlflow_server(readers: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real MLflow server on the loopback interface, with its own database."""
    folder = tmp_path_factory.mktemp("mlflow")
    data = ("--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", folder / "artifacts")
    command = (readers.python.with_name("mlflow"), "server", "--host", "127.0.0.1", "--workers", "1", *data)
    with serving(*command, "--port", "{port}", cwd=folder, health="/health") as address:
        yield address


@pytest.mark.slow
def test_a_real_mlflow_server_gets_scores_settings_and_samples(
    model_run: RecordedRun, mlflow_server: str, tmp_path: Path
) -> None:
    """The run is finished and has its own times; the same run again is found and changes nothing."""
    mlflow = pytest.importorskip("mlflow")
    with exported_run(model_run) as found:
        logged = log_to_mlflow(found, tracking_uri=mlflow_server, experiment="board")
        again = log_to_mlflow(found, tracking_uri=mlflow_server, experiment="board")
    assert (logged.is_new, again.is_new, again.place) == (True, False, logged.place)
    assert logged.place.startswith(f"{mlflow_server}/#/experiments/")
    client = mlflow.tracking.MlflowClient(mlflow_server)
    [run] = client.search_runs([client.get_experiment_by_name("board").experiment_id])
    assert run.data.metrics["pass_at_1"] == pytest.approx(1 / 3)
    assert run.data.metrics["cost_usd"] == pytest.approx(0.006)
    assert (run.data.params["model"], run.data.params["generation.temperature"]) == ("openai/nova-7b", "0.2")
    assert (run.info.status, run.info.end_time - run.info.start_time) == ("FINISHED", 450_000)
    path = client.download_artifacts(run.info.run_id, "samples.jsonl", str(tmp_path))
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    assert [*rows[0]] == [*SAMPLE_COLUMNS]
    assert len(rows) == 6


@pytest.mark.slow
def test_an_imported_run_is_logged_with_what_is_known(imported_run: RecordedRun, mlflow_server: str) -> None:
    """No limits, environment, tokens or cost are made up."""
    mlflow = pytest.importorskip("mlflow")
    with exported_run(imported_run) as found:
        log_to_mlflow(found, tracking_uri=mlflow_server, experiment="imported", samples=False)
    client = mlflow.tracking.MlflowClient(mlflow_server)
    [run] = client.search_runs([client.get_experiment_by_name("imported").experiment_id])
    assert run.data.params["imported_from"] == "m_eval_results.json"
    assert not {"environment", "sanitizer", "limits.time_seconds"} & run.data.params.keys()
    assert not {"cost_usd", "ground_truth_rate"} & run.data.metrics.keys()
    assert client.list_artifacts(run.info.run_id) == []


@pytest.mark.slow
def test_a_database_of_ones_own_needs_no_server(model_run: RecordedRun, tmp_path: Path) -> None:
    """MLflow's client takes an SQLite file where its database packages are installed."""
    pytest.importorskip("mlflow")
    pytest.importorskip("alembic")
    with exported_run(model_run) as found:
        logged = log_to_mlflow(found, tracking_uri=f"sqlite:///{tmp_path}/mlflow.db", samples=False)
        assert log_to_mlflow(found, tracking_uri=f"sqlite:///{tmp_path}/mlflow.db").place == logged.place


@pytest.mark.slow
def test_an_mlflow_server_that_is_away_is_one_line(model_run: RecordedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client would try for minutes; ours says what it was told."""
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with (
        exported_run(model_run) as found,
        pytest.raises(PublishingError, match=r"MLflow did not take the run .*check address"),
    ):
        log_to_mlflow(found, tracking_uri="http://127.0.0.1:9")


_LOG_OFFLINE = """
import sys
from pathlib import Path
from bigcodeflow_exports.exported_run import exported_run
from bigcodeflow_exports.clients import log_to_wandb
from bigcodeflow.results.runs import find_run
with exported_run(find_run(sys.argv[1], "nova")) as run:
    print(log_to_wandb(run, offline=True, folder=Path(sys.argv[2])).place)
"""


@pytest.mark.slow
def test_an_offline_wandb_run_holds_settings_scores_and_samples(
    model_run: RecordedRun, store_root: Path, tmp_path: Path
) -> None:
    """Read back from the file that `wandb sync` takes, as messages of wandb's own protocol."""
    pytest.importorskip("wandb")
    # A process of its own: the client leaves a service and settings behind in its process.
    done = subprocess.run(
        [sys.executable, "-c", _LOG_OFFLINE, store_root, tmp_path / "out"],
        env=os.environ | {"WANDB_CACHE_DIR": str(tmp_path / "cache"), "WANDB_CONFIG_DIR": str(tmp_path / "config")},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    place = Path(done.stdout.splitlines()[-1])
    assert place.name.startswith("offline-run-")
    records = _records(next(place.glob("run-*.wandb")))
    config = {item.key: json.loads(item.value_json) for one in records for item in one.run.config.update}
    assert (config["model"], config["generation.temperature"]) == ("openai/nova-7b", 0.2)
    summary = {item.key: json.loads(item.value_json) for one in records for item in one.summary.update}
    assert summary["pass@1"] == pytest.approx(1 / 3)
    [table] = place.glob("files/media/table/samples_*.table.json")
    content = json.loads(table.read_text())
    assert (content["columns"], len(content["data"])) == ([*SAMPLE_COLUMNS], 6)


def _records(path: Path) -> list[Any]:
    """The messages of a .wandb file: a log of LevelDB's format, in blocks, behind a header of seven bytes."""
    from wandb.proto import wandb_internal_pb2

    content, place, part, found = path.read_bytes(), 7, b"", []
    while place + 7 <= len(content):
        left = 32_768 - place % 32_768
        if left < 7:  # no room for another record: the block ends with zeros
            place += left
            continue
        _, length, kind = struct.unpack("<IHB", content[place : place + 7])
        part += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # a whole record, or the last part of one
            record = wandb_internal_pb2.Record()
            record.ParseFromString(part)
            found.append(record)
            part = b""
    return found


@pytest.mark.parametrize(("module", "log"), [("mlflow", log_to_mlflow), ("wandb", log_to_wandb)])
def test_an_extra_that_is_missing_says_how_to_install_it(
    model_run: RecordedRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, log: Any
) -> None:
    """One line with the command for pip and for uv."""
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.chdir(tmp_path)
    message = rf"export {module} needs the package {module}: pip install 'bigcodeflow\[{module}\]', or uv tool install"
    with exported_run(model_run) as found, pytest.raises(ConfigError, match=message):
        log(found)
