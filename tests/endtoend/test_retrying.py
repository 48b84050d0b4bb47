"""A stage that failed is run again by a retry, with the later ones, and nothing before it is."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.endtoend.conftest import config_in, write_samples
from tests.endtoend.service import ServedRun, Service

pytestmark = [pytest.mark.flow, pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(1800)]

#: Stages in order, each with its folder in the store.
STAGES = {
    "dataset": "dataset",
    "generation": "generation",
    "sanitizing": "sanitizing",
    "ground_truth": "execution",
    "execution": "execution",
    "aggregation": "aggregation",
}
_SAMPLES = 3


def folders(store: Path) -> dict[str, Path]:
    """The artifact of each stage of the store's only recorded run."""
    [record] = (store / "runs").glob("*.json")
    keys = json.loads(record.read_text())["artifacts"]
    return {stage: store / folder / keys[stage] for stage, folder in STAGES.items()}


def written(folder: Path) -> tuple[int, int]:
    """Which file an artifact's table is, and when it was written."""
    stat = (folder / "part-0.parquet").stat()
    return stat.st_ino, stat.st_mtime_ns


def states_of(run: ServedRun) -> dict[str, list[str]]:
    """States of each stage's task runs in order."""
    states: dict[str, list[str]] = {}
    for name, state in run.task_runs():
        states.setdefault(name.partition(":")[0].replace(" ", "_"), []).append(state)
    return states


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs that differ from the ground truths, so that they have to be executed themselves."""
    return write_samples(tmp_path_factory.mktemp("samples") / "samples.jsonl", _SAMPLES, sleep_seconds=0.01)


@pytest.fixture(scope="module")
def undisturbed(service: Service, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The artifacts of a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    service.run(config_in(folder, tasks=_SAMPLES, samples={"source": str(samples)})).ended("COMPLETED")
    return folders(folder / "store")


# A stage that asks and a stage that executes; tests/flows/test_failures.py has retries without a worker.
@pytest.mark.parametrize(
    "failing",
    [
        stage if stage in ("generation", "execution") else pytest.param(stage, marks=pytest.mark.long)
        for stage in STAGES
    ],
)
def test_retry_runs_the_failed_stage_and_later_ones_only(
    failing: str, service: Service, samples: Path, undisturbed: dict[str, Path], tmp_path: Path
) -> None:
    """What was finished before the fault stays as it was written; no program is executed twice; scores are equal."""
    store = tmp_path / "store"
    target = {stage: store / folder.relative_to(folder.parents[1]) for stage, folder in undisturbed.items()}
    target[failing].parent.mkdir(parents=True)
    target[failing].write_text("where the artifact is to go, there is a file already")
    run = service.run(config_in(tmp_path, tasks=_SAMPLES, samples={"source": str(samples)}))
    run.ended("FAILED")
    place = list(STAGES).index(failing)
    earlier, later = list(STAGES)[:place], list(STAGES)[place + 1 :]
    assert states_of(run) == {key: ["Completed"] for key in earlier} | {failing: ["Failed"]}
    before = {stage: written(target[stage]) for stage in earlier}
    target[failing].unlink()
    if failing == "sanitizing":
        service.prefect("flow-run", "retry", run.id)
    else:
        run.retry()
    run.ended("COMPLETED")
    assert states_of(run) == (
        {key: ["Completed", "Cached"] for key in earlier}
        | {failing: ["Failed", "Completed"]}
        | {key: ["Completed"] for key in later}
    )
    assert {stage: written(target[stage]) for stage in earlier} == before
    for stage in ("ground_truth", "execution"):
        counted = json.loads((target[stage] / "manifest.json").read_text())["artifact"]["statistics"]
        assert (counted["executed"], counted["executed_twice"]) == (_SAMPLES, 0)
    assert scores(target) == scores(undisturbed)


def scores(folder: dict[str, Path]) -> list[dict[str, Any]]:
    """Rows of a run's metrics."""
    return pq.read_table(folder["aggregation"] / "part-0.parquet").to_pylist()
