"""The files that a run leaves: the same ones, however it was started."""

import re
from pathlib import Path

import pytest
from prefect.client.orchestration import SyncPrefectClient

import bigcodeflow as bcf
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel
from flows.benchmark import benchmark
from flows.sweep import sweep
from tests.command import command_in

pytestmark = [
    pytest.mark.flow,
    pytest.mark.sandbox,
    pytest.mark.slow,
    pytest.mark.usefixtures("starter_environment"),
    pytest.mark.filterwarnings("default"),
]

_SETTINGS = {
    "dataset.ids": "0",
    "execution.workers": 1,
    "execution.variants": ["calibrated"],
    "execution.integrity": "off",
}
_NAMED = (
    (r"[0-9a-f]{64}", "KEY"),
    (r"^(store/runs)/[^/]+\.json$", r"\1/RECORD.json"),
    (r"^out/[^/]+--bigcodebench-complete", "out/STEM"),
)


def _files(folder: Path) -> list[str]:
    """Files of one run below a folder, without the names of this run."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for pattern, name in _NAMED:
        found = {re.sub(pattern, name, path) for path in found}
    return sorted(found)


def _config(folder: Path) -> bcf.RunConfig:
    places = {"store": str(folder / "store"), "out": str(folder / "out")}
    return bcf.load_config("starter", options={**_SETTINGS, **places, "samples.source": "oracle"})


def _command(folder: Path, *words: str, **variables: str) -> None:
    settings = {**_SETTINGS, "store": folder / "store", "out": folder / "out"}
    command_in(folder)(*words, *(f"--set={path}={value}" for path, value in settings.items()), **variables)


def _swept(folder: Path) -> None:
    """A sweep of one run; its folder stands for the run's."""
    oracle, place = SweepModel(answers="oracle"), folder / "sweep"
    sweep(SweepConfig(models=(oracle,), common=_SETTINGS, store=str(folder / "store"), out=str(place)))
    (place / "oracle-complete-full").rename(folder / "out")
    (place / "sweep.json").unlink()


def test_every_way_of_running_leaves_the_same_files(prefect_client: SyncPrefectClient, tmp_path: Path) -> None:
    """Result files, record, report and catalog, and the artifacts; so also a run whose stages are all in the store."""
    run = ("run", "starter", "--set=samples.source=oracle")
    ways = {
        "flow": lambda folder: benchmark(_config(folder)),
        "library": lambda folder: bcf.run(_config(folder), progress=False),
        "run": lambda folder: _command(folder, *run, PREFECT_API_URL=str(prefect_client.api_url)),
        "run, no Prefect": lambda folder: _command(folder, *run, "--no-prefect"),
        "evaluate": lambda folder: _command(folder, "evaluate", "--samples=oracle", "--dataset=starter"),
        "sweep": _swept,
    }
    left = {}
    for number, (way, start) in enumerate(ways.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        start(folder)
        left[way] = _files(folder)
    assert {"out/report.html", "out/run.json", "store/results.duckdb", "store/runs/RECORD.json"} <= set(left["flow"])
    assert left == dict.fromkeys(ways, left["flow"])

    reused = tmp_path / "3"
    (reused / "out").rename(tmp_path / "first")
    _command(reused, *run)
    assert _files(reused) == left["flow"]
