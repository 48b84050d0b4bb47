"""A sweep on a real server: failures, retries, and what is not done twice."""

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterParentFlowRunId
from prefect.client.schemas.objects import State

from bigcodeflow.pipeline import stages
from bigcodeflow.pipeline.sweeps import SweepConfig, SweepModel
from bigcodeflow.results.runs import recorded_runs
from bigcodeflow.store import ArtifactRef, open_store
from flows.sweep import sweep, sweep_file
from tests.endtoend.conftest import write_samples
from tests.flows.observed import prefect, run_id, shown
from tests.flows.test_reuse import parts
from tests.generation.providers.double import Completion, model_server
from tests.generation.split_answers import solved_by_docstring

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("prefect_client", "starter_environment")]


def sweep_in(folder: Path, *answers: str) -> SweepConfig:
    """Two starter tasks, answered in several ways, with everything written below a folder."""
    return SweepConfig(
        name="Test.Sweep",
        models=tuple(SweepModel(answers=one) for one in answers),
        common={
            "dataset.ids": "0-1",
            "execution.workers": 1,
            "execution.variants": ["calibrated"],
            "sanitizing.mode": "none",
        },
        store=str(folder / "store"),
        out=str(folder / "out"),
    )


def performed(config: SweepConfig) -> State[Any]:
    return sweep(config, return_state=True)


def children(client: SyncPrefectClient, parent: UUID) -> dict[str, list[str]]:
    """State names of the runs that a sweep started, by name, the first first."""
    chosen = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[parent]))
    found: dict[str, list[str]] = {}
    for run in sorted(client.read_flow_runs(flow_run_filter=chosen), key=lambda run: run.created):
        found.setdefault(run.name, []).append(run.state_name or "")
    return found


def table(client: SyncPrefectClient, run: UUID, key: str = "sweep-test-sweep") -> list[dict[str, str]]:
    return json.loads(shown(client, run)[key])


@pytest.mark.slow
def test_a_failure_stops_no_other_run_and_a_retry_does_it_alone(
    prefect_client: SyncPrefectClient, tmp_path: Path
) -> None:
    """The run in the middle fails, those around it finish; Prefect's retry of the sweep then performs that one alone."""
    file = tmp_path / "mine.jsonl"
    config = sweep_in(tmp_path, "oracle", str(file), "stub")
    state = performed(config)
    first = run_id(state)
    assert state.is_failed()
    assert state.message.startswith("sweep Test.Sweep: 1 of 3 runs failed")
    assert f"mine-complete-full: {file}: cannot be opened" in state.message
    names = ("oracle · full · complete", "mine · full · complete", "stub · full · complete")
    ended = dict(zip(names, (["Completed"], ["Failed"], ["Completed"]), strict=True))
    assert children(prefect_client, first) == ended
    assert [row["pass@1"] for row in table(prefect_client, first)] == ["100.0 %", "", "0.0 %"]
    [failure] = table(prefect_client, first, "sweep-test-sweep-failures")
    assert failure["run"] == "mine-complete-full"
    assert "cannot be opened" in failure["why"]

    before = parts(Path(config.store))
    write_samples(file, 2)
    prefect("flow-run", "retry", str(first), "--entrypoint", "flows.sweep.sweep")

    assert prefect_client.read_flow_run(first).state.is_completed()
    ended["mine · full · complete"] = ["Failed", "Completed"]
    assert children(prefect_client, first) == ended
    after = parts(Path(config.store))
    assert {path: after[path] for path in before} == before, "no artifact was written again"
    new = sorted(path.parents[1].name for path in after if path not in before)
    assert new == ["aggregation", "execution", "generation", "sanitizing"]
    [mine] = [run for run in recorded_runs(config.store) if run.run == "mine-complete-full"]
    executed = open_store(config.store).find("execution", mine.keys["execution"])
    assert executed.statistics["executed"] == 0, "equal programs were judged for the oracle"
    rows = table(prefect_client, first)
    assert [row["done"].partition(":")[0] for row in rows] == ["all reused", "ran", "all reused"]
    assert [row["pass@1"] for row in rows] == ["100.0 %", "100.0 %", "0.0 %"]

    _a_new_run_starts_nothing(config, prefect_client)
    _a_lost_artifact_is_made_again_by_a_retry(config, prefect_client, first)


def _a_new_run_starts_nothing(config: SweepConfig, client: SyncPrefectClient) -> None:
    """A sweep whose every stage is in the store has no runs of its own, records none, and shows the same scores."""
    before, records = parts(Path(config.store)), len(recorded_runs(config.store))
    state = performed(config)
    assert state.is_completed()
    assert children(client, run_id(state)) == {}
    assert parts(Path(config.store)) == before
    assert len(recorded_runs(config.store)) == records
    assert [result.outcome for result in state.result()] == ["reused"] * 3
    assert [result.pass_at_1 for result in state.result()] == [1.0, 1.0, 0.0]


def _a_lost_artifact_is_made_again_by_a_retry(config: SweepConfig, client: SyncPrefectClient, first: UUID) -> None:
    """Prefect remembers the last run as completed; the store, which has lost a part of it, is what counts."""
    stub = next(run for run in recorded_runs(config.store) if run.run == "stub-complete-full")
    lost = stub.path("aggregation")
    lost.unlink()
    prefect("flow-run", "retry", str(first), "--entrypoint", "flows.sweep.sweep")
    assert lost.is_file()
    assert children(client, first)["stub · full · complete"] == ["Completed", "Completed"]
    assert children(client, first)["oracle · full · complete"] == ["Completed"]


@pytest.mark.slow
def test_each_split_of_a_sweep_has_its_own_answers(prefect_client: SyncPrefectClient, tmp_path: Path) -> None:
    """A model that answers prose wrongly has two scores; each prompt of either split is asked once."""
    with model_server(solved_by_docstring) as server:
        asked = SweepModel(model="openai:m", values={"generation.base_url": server.url("openai")})
        changes = {"models": (asked,), "splits": ("complete", "instruct"), "overrides": {"sanitizing.mode": "parity"}}
        config = sweep_in(tmp_path, "oracle").model_copy(update=changes)
        results = performed(config).result()
        assert len(server.requests) == 4
        assert {result.split: result.pass_at_1 for result in results} == {"complete": 1.0, "instruct": 0.0}
        assert {result.outcome for result in performed(config).result()} == {"reused"}
        assert len(server.requests) == 4


def _spans(client: SyncPrefectClient, sweep_run: UUID) -> dict[str, tuple[datetime, datetime]]:
    """When the tasks of all runs of a sweep ran, by their names; those that were cached are left out."""
    chosen = FlowRunFilter(parent_flow_run_id=FlowRunFilterParentFlowRunId(any_=[sweep_run]))
    runs = [run for run in client.read_task_runs(flow_run_filter=chosen) if run.state_name == "Completed"]
    return {run.name: (run.start_time, run.end_time) for run in runs if run.start_time and run.end_time}


@pytest.mark.slow
def test_one_asks_while_another_executes(
    prefect_client: SyncPrefectClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two models the second is asked before the first is judged; never are two asked, or two judged, at once."""
    perform, begun, both_asked = stages.perform, [], Event()

    def ordered(stage: stages.Stage, *given: Any) -> ArtifactRef:
        if stage.title == "generation":
            begun.append(stage)
        if len(begun) == 2:
            both_asked.set()
        assert stage.title != "execution" or both_asked.wait(600)
        return perform(stage, *given)

    monkeypatch.setattr("tasks.stages.perform", ordered)
    with model_server([Completion("```python\ndef task_func(*given, **named):\n    return 0\n```")]) as server:
        models = tuple(
            SweepModel(model=f"openai:{name}", values={"generation.base_url": server.url("openai")}) for name in "mn"
        )
        config = sweep_in(tmp_path, "oracle").model_copy(update={"models": models})
        config = config.model_copy(update={"overrides": {"sanitizing.mode": "robust"}})
        state = performed(config)
    assert {result.outcome for result in state.result()} == {"ran"}
    spans = _spans(prefect_client, run_id(state))
    asked = sorted(span for name, span in spans.items() if name.startswith("generation"))
    judged = sorted(span for name, span in spans.items() if name.startswith("execution"))
    [first] = [span for name, span in spans.items() if name.startswith("execution: m ")]
    assert len(asked) == 2
    assert asked[1][0] < first[1]
    for several in (asked, judged):
        assert all(end <= start for (_, end), (start, _) in pairwise(several))


def test_a_mistake_is_reported_before_anything_runs(prefect_client: SyncPrefectClient, tmp_path: Path) -> None:
    """An unknown setting for one model fails the sweep with one line, and no run is started."""
    config = sweep_in(tmp_path, "oracle")
    wrong = SweepModel(answers="stub", values={"sanitizing.moed": "robust"})
    state = performed(config.model_copy(update={"models": (*config.models, wrong)}))
    assert state.is_failed()
    assert "model stub: sanitizing.moed is not a setting; known here: mode, safety_policy" in state.message
    assert children(prefect_client, run_id(state)) == {}
    assert not (tmp_path / "store").exists()


def test_a_file_is_read_when_the_sweep_runs(prefect_client: SyncPrefectClient, tmp_path: Path) -> None:
    """A deployment names the file, so that editing it needs no new deployment; an unknown name is reported."""
    state = sweep_file("absent", return_state=True)
    assert state.is_failed()
    assert state.message == "sweep 'absent' is neither a file nor one of: nightly, starter"
    assert prefect_client.read_flow_run(run_id(state)).name == "sweep absent"
