"""What a run computes and what it takes from earlier ones."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bigcodeflow.pipeline.resolution import resolve
from bigcodeflow.pipeline.runs import perform_all
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import open_store
from tests.doubles.listeners import RecordingListener
from tests.flows.observed import TASKS, ObservedRun, RunFlow, Settings

pytestmark = pytest.mark.flow


def parts(store: Path) -> dict[Path, tuple[int, int]]:
    """Identity of every Parquet file: its inode and when it was written."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.rglob("*.parquet")}


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


def damage(folder: Path) -> None:
    """Change one byte of an artifact's table."""
    content = bytearray((folder / "part-0.parquet").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (folder / "part-0.parquet").write_bytes(content)


@pytest.mark.parametrize(
    ("stage", "spoil"),
    [("sanitizing", damage), *(pytest.param(stage, shutil.rmtree, marks=pytest.mark.slow) for stage in TASKS)],
)
def test_a_damaged_or_deleted_artifact_is_made_again(
    stage: str, spoil: Callable[[Path], None], finished_run: ObservedRun, settings: Settings, run_flow: RunFlow
) -> None:
    """Exactly its own stage runs again, and the artifact is whole afterwards, under the same key."""
    before = getattr(finished_run.artifacts, stage)
    spoil(open_store(settings().store).folder(before.stage, before.key))
    run = run_flow(settings())
    run.assert_states("Cached", **{stage: ["Completed"]})
    ref = getattr(run.artifacts, stage)
    assert run.store.find(ref.stage, ref.key) == ref
    assert ref.key == before.key


def test_run_without_prefect_has_the_same_artifacts(finished_run: ObservedRun, settings: Settings) -> None:
    """In this process, on the flow's store: every artifact is the flow's own."""
    listener = RecordingListener()
    artifacts = perform_all(resolve(settings()), listener)
    assert (listener.computed, len(listener.reused)) == ([], len(TASKS))
    assert artifacts == finished_run.artifacts
    assert isinstance(artifacts, RunArtifacts)
