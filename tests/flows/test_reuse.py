"""What a run computes and what it takes from earlier ones."""

import json
import shutil
from pathlib import Path

import pytest

from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store
from tests.doubles.listeners import RecordingListener
from tests.flows.observed import TASKS, ObservedRun, RunFlow, Settings, settings_in

pytestmark = pytest.mark.flow


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
    """The same run again finds every stage cached, writes no artifact, and returns the same ones."""
    config = settings()
    before = parts(Path(config.store))
    run = run_flow(config)
    run.assert_states("Cached")
    assert parts(Path(config.store)) == before
    assert run.artifacts == finished_run.artifacts


@pytest.mark.parametrize("stage", TASKS)
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


@pytest.mark.parametrize("stage", ["sanitizing", "aggregation"])
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


def test_verdicts_with_infrastructure_errors_are_no_result(
    finished_run: ObservedRun, settings: Settings, run_flow: RunFlow
) -> None:
    """A cached execution that could not judge every sample is performed again."""
    manifest = folder_of(finished_run, settings, "execution") / "manifest.json"
    content = json.loads(manifest.read_text())
    content["artifact"]["statistics"]["infra_errors"] = 1
    manifest.write_text(json.dumps(content))
    run = run_flow(settings())
    run.assert_states("Cached", execution=["Completed"])
    assert run.artifacts.execution.statistics["infra_errors"] == 0


def test_a_setting_concerns_its_stages_only(finished_run: ObservedRun, settings: Settings, run_flow: RunFlow) -> None:
    """A change of k costs the aggregation; workers, slots, name and output folder are no part of any identity."""
    run = run_flow(settings("aggregation.k=[1]"))
    run.assert_states("Cached", aggregation=["Completed"])
    assert run.artifacts.aggregation.key != finished_run.artifacts.aggregation.key
    elsewhere = ("name=other", f"out={settings().out}-other")
    run_flow(settings("execution.workers=2", "execution.slots_per_worker=3", *elsewhere)).assert_states("Cached")


def test_another_store_is_filled(finished_run: ObservedRun, settings: Settings, run_flow: RunFlow) -> None:
    """What one store holds is not taken for the content of another."""
    elsewhere = settings().model_copy(update={"store": f"{settings().store}-elsewhere"})
    run = run_flow(elsewhere)
    run.assert_states("Completed")
    assert all(run.store.find(ref.stage, ref.key) == ref for ref in run.artifacts.by_stage.values())


def test_run_without_prefect_has_the_same_artifacts(
    finished_run: ObservedRun, settings: Settings, tmp_path: Path
) -> None:
    """In one process: on an empty store with the same keys and sizes, on the flow's store the flow's own."""
    artifacts = perform_all(settings_in(tmp_path / "empty"), RecordingListener())
    assert [(ref.key, ref.rows) for ref in artifacts.by_stage.values()] == [
        (ref.key, ref.rows) for ref in finished_run.artifacts.by_stage.values()
    ]
    listener = RecordingListener()
    artifacts = perform_all(settings(), listener)
    assert (listener.computed, len(listener.reused)) == ([], len(TASKS))
    assert artifacts == finished_run.artifacts
    assert isinstance(artifacts, RunArtifacts)
