"""What a run computes and what it takes from earlier ones."""

import shutil
from pathlib import Path

import pytest

from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store
from tests.doubles.listeners import RecordingListener
from tests.flows.observed import TASKS, ObservedRun, RunFlow, Settings

pytestmark = pytest.mark.flow

#: Stages that are deleted in the default suite: an ordinary stage, and the stage that needs workers.
_DELETED = ("generation", "execution")


def parts(store: Path) -> dict[Path, tuple[int, int]]:
    """Identity of every Parquet file: its inode and when it was written."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.rglob("*.parquet")}


def folder_of(run: ObservedRun, settings: Settings, stage: str) -> Path:
    """The stage's artifact in the copied store."""
    ref = getattr(run.artifacts, stage)
    return open_store(settings().store).folder(ref.stage, ref.key)


def test_first_run_computes_every_stage(finished_run: ObservedRun) -> None:
    """The first run on an empty store performs each stage once; the tasks' own solutions pass."""
    finished_run.assert_states("Completed")
    statuses = finished_run.store.read(finished_run.artifacts.execution, ["status"])["status"].to_pylist()
    assert statuses == ["pass"] * 3


def test_second_run_executes_nothing(finished_run: ObservedRun, settings: Settings, run_flow: RunFlow) -> None:
    """The same run finds every stage cached and writes no artifact, also with other workers, name and output folder."""
    elsewhere = ("name=other", f"out={settings().out}-other")
    config = settings("execution.workers=2", "execution.slots_per_worker=3", *elsewhere)
    before = parts(Path(config.store))
    run = run_flow(config)
    run.assert_states("Cached")
    assert parts(Path(config.store)) == before
    assert run.artifacts == finished_run.artifacts


@pytest.mark.slow
@pytest.mark.parametrize(
    "stage", [stage if stage in _DELETED else pytest.param(stage, marks=pytest.mark.slow) for stage in TASKS]
)
def test_deleted_artifact_is_made_again(
    stage: str, finished_run: ObservedRun, settings: Settings, run_flow: RunFlow
) -> None:
    """An artifact that is gone makes exactly its own stage run again, under the same key."""
    shutil.rmtree(folder_of(finished_run, settings, stage))
    run = run_flow(settings())
    run.assert_states("Cached", **{stage: ["Completed"]})
    assert [ref.key for ref in run.artifacts.by_stage.values()] == [
        ref.key for ref in finished_run.artifacts.by_stage.values()
    ]


@pytest.mark.parametrize("stage", ["sanitizing", pytest.param("aggregation", marks=pytest.mark.slow)])
def test_damaged_artifact_is_made_again(
    stage: str, finished_run: ObservedRun, settings: Settings, run_flow: RunFlow
) -> None:
    """An artifact with one wrong byte makes exactly its own stage run again, and is whole afterwards."""
    part = folder_of(finished_run, settings, stage) / "part-0.parquet"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 0xFF
    part.write_bytes(content)
    run = run_flow(settings())
    run.assert_states("Cached", **{stage: ["Completed"]})
    ref = getattr(run.artifacts, stage)
    assert run.store.find(ref.stage, ref.key) == ref


@pytest.mark.slow
def test_a_setting_concerns_its_stages_only(finished_run: ObservedRun, settings: Settings, run_flow: RunFlow) -> None:
    """A change of k costs the aggregation alone."""
    run = run_flow(settings("aggregation.k=[1]"))
    run.assert_states("Cached", aggregation=["Completed"])
    assert run.artifacts.aggregation.key != finished_run.artifacts.aggregation.key


@pytest.mark.slow
def test_another_store_is_filled(finished_run: ObservedRun, settings: Settings, run_flow: RunFlow) -> None:
    """What one store holds is not taken for the content of another."""
    elsewhere = settings().model_copy(update={"store": f"{settings().store}-elsewhere"})
    run = run_flow(elsewhere)
    run.assert_states("Completed")
    assert all(run.store.find(ref.stage, ref.key) == ref for ref in run.artifacts.by_stage.values())


def test_run_without_prefect_has_the_same_artifacts(finished_run: ObservedRun, settings: Settings) -> None:
    """In this process, on the flow's store: every artifact is the flow's own."""
    listener = RecordingListener()
    artifacts = perform_all(resolve(settings()), listener)
    assert (listener.computed, len(listener.reused)) == ([], len(TASKS))
    assert artifacts == finished_run.artifacts
    assert isinstance(artifacts, RunArtifacts)
