"""The smaller flows on a real server: judging again, checking an environment, the leaderboard and retention."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import State

from bigcodeflow.config import EnvironmentCheckConfig
from bigcodeflow.core.paths import shipped
from bigcodeflow.pipeline.rescore import RescoreConfig
from bigcodeflow.pipeline.retention import RetentionConfig
from bigcodeflow.results.runs import find_run, recorded_runs
from bigcodeflow.store import open_store
from bigcodeflow_leaderboard.entries import published_entries
from bigcodeflow_leaderboard.flow import leaderboard
from bigcodeflow_leaderboard.history import find_snapshot, record_snapshot
from bigcodeflow_leaderboard.publishing import LeaderboardConfig
from bigcodeflow_studies.evolution import EvolutionConfig
from flows.benchmark import rescore
from flows.studies import evolution
from flows.upkeep import check_environment, retention
from tests.endtoend.conftest import write_samples
from tests.flows.observed import TASKS, ObservedRun, Settings, run_id, shown

pytestmark = pytest.mark.flow


def table(client: SyncPrefectClient, state: State[Any], key: str) -> list[dict[str, str]]:
    return json.loads(shown(client, run_id(state))[key])


@pytest.mark.slow
def test_a_recorded_run_is_judged_again_under_another_sanitizer(
    finished_run: ObservedRun, settings: Settings, prefect_client: SyncPrefectClient, tmp_path: Path
) -> None:
    """The samples are the recorded ones, nothing that stays the same is done again, and the new run has its own name."""
    store = settings().store
    state = rescore(
        RescoreConfig(run="latest", sanitizer="robust", store=store, out=str(tmp_path / "again")), return_state=True
    )
    assert state.is_completed(), state.message
    first, again = finished_run.artifacts, state.result().artifacts
    same = {stage for stage in TASKS if getattr(again, stage) == getattr(first, stage)}
    assert same == {"dataset", "generation", "ground_truth"}
    assert again.sanitizing.key != first.sanitizing.key
    assert find_run(store, "latest").run == "run-rescored"
    assert (tmp_path / "again" / "metrics.parquet").is_file()
    assert prefect_client.read_flow_run(run_id(state)).name == "rescore latest"


def test_a_sample_file_is_judged(settings: Settings, tmp_path: Path) -> None:
    """A file needs no configuration beyond the preset; programs that were judged before are not executed again."""
    file = tmp_path / "mine.jsonl"
    write_samples(file)
    values = {"dataset.ids": "0-2", "execution.workers": 1, "execution.variants": ["calibrated"]}
    values |= {"execution.limits": {}}
    config = RescoreConfig(
        samples=str(file), sanitizer="none", values=values, store=settings().store, out=str(tmp_path / "out")
    )
    state = rescore(config, return_state=True)
    assert state.is_completed(), state.message
    assert state.result().artifacts.execution.rows == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flow", "config", "message"),
    [
        (rescore, RescoreConfig(run="absent"), "no recorded run is called 'absent'"),
        (check_environment, EnvironmentCheckConfig(environment="absent"), "absent"),
        (evolution, EvolutionConfig(current="absent", environment="starter"), "'absent' is not defined"),
        # By default a dry run: without a run of ours nothing is published, not even in words.
        (leaderboard, LeaderboardConfig(repository="me/board"), "has no run that can be published"),
    ],
)
def test_a_mistake_is_named(settings: Settings, tmp_path: Path, flow: Any, config: Any, message: str) -> None:
    """The flow ends failed with the message that the command would give."""
    places = {"store": settings().store, "out": str(tmp_path / "out")}
    known = {name: value for name, value in places.items() if name in type(config).model_fields}
    state = flow(config.model_copy(update=known), return_state=True)
    assert state.is_failed()
    assert message in state.message


@pytest.mark.slow
def test_an_environment_is_checked(settings: Settings, prefect_client: SyncPrefectClient) -> None:
    """The table says how many libraries, tasks and controls are sound, and ground truths of earlier runs are reused."""
    config = settings()
    check = EnvironmentCheckConfig(
        ids="0-2", controls=False, overrides=("execution.variants=[calibrated]",), store=config.store, workers=1
    )
    before = set(Path(config.store).glob("execution/*"))
    state = check_environment(check, return_state=True)
    assert state.is_completed(), state.message
    rows = {row["check"]: row for row in table(prefect_client, state, "environment-starter")}
    assert {row["verdict"] for row in rows.values()} == {"sound"}
    assert rows["tasks that can be judged"]["holds for"] == "3 of 3"
    assert rows["control: oracle"]["holds for"] == "3 of 3"
    assert set(Path(config.store).glob("execution/*")) == before
    assert "## Controls" in shown(prefect_client, run_id(state))["environment-starter-result"]


@pytest.mark.slow
def test_an_environment_that_fails_its_check_fails_the_flow(
    settings: Settings, prefect_client: SyncPrefectClient, tmp_path: Path
) -> None:
    """Tasks that cannot be judged are named in the message and in the table; they may be forgiven."""
    with shipped("data/starter/tasks.jsonl").open() as lines:
        task = json.loads(next(lines))
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps({**task, "canonical_solution": "    return None\n"}) + "\n")
    check = EnvironmentCheckConfig(dataset=str(file), controls=False, store=settings().store, workers=1)
    state = check_environment(check, return_state=True)
    assert state.is_failed()
    assert state.message == f"starter: 1 of 1 tasks cannot be judged ({task['task_id']})"
    rows = {row["check"]: row for row in table(prefect_client, state, "environment-starter")}
    assert rows["tasks that can be judged"] == {
        "check": "tasks that can be judged",
        "holds for": "0 of 1",
        "verdict": "wanting",
    }
    forgiven = check_environment(check.model_copy(update={"least_judgeable": 0.0}), return_state=True)
    assert forgiven.is_completed(), forgiven.message


@pytest.mark.slow
def test_the_leaderboard_is_kept_current_and_names_regressions(
    settings: Settings, prefect_client: SyncPrefectClient, tmp_path: Path
) -> None:
    """One key holds the boards of now; a score that was higher in the last snapshot is a regression with its name."""
    store = settings().store
    best, *others = published_entries()
    better = best.model_copy(update={"pass_at_1": best.pass_at_1 + 0.05})
    record_snapshot(store, [better, *others], datetime(2026, 1, 1, tzinfo=UTC))
    config = LeaderboardConfig(store=store, out=str(tmp_path / "board"), fail_on_regression=True)
    state = leaderboard(config, return_state=True)
    assert state.is_failed()
    assert state.message.startswith(f"regression: {best.title}")
    assert len(state.message.splitlines()) == 1
    rows = table(prefect_client, state, "leaderboard")
    assert {row["board"] for row in rows} >= {"full · complete", "hard · instruct"}
    assert rows[0]["rank"] == "1"
    assert "## Regressions" in shown(prefect_client, run_id(state))["leaderboard-changes"]
    assert (tmp_path / "board" / "leaderboard.json").is_file()

    again = leaderboard(config, return_state=True)
    assert again.is_completed(), "the drop is in the last snapshot now"
    assert again.result() == find_snapshot(store, "latest").name
    assert f"{len(others) + 1:,} entries are unchanged." in shown(prefect_client, run_id(again))["leaderboard-changes"]


@pytest.mark.slow
def test_retention_shows_first_and_removes_on_request(
    settings: Settings, prefect_client: SyncPrefectClient, tmp_path: Path
) -> None:
    """By default nothing goes; asked to, the flow removes what it had shown, and the recorded run stays whole."""
    store = open_store(settings().store)
    kept = recorded_runs(store.root)[-1]
    unused = store.root / "execution" / ("a" * 64)
    unused.mkdir()
    for name in ("manifest.json", "part-0.parquet"):
        (unused / name).write_text("{}")
        old = (datetime.now(UTC) - timedelta(days=40)).timestamp()
        os.utime(unused / name, (old, old))
    state = retention(RetentionConfig(store=str(store.root)), return_state=True)
    assert state.is_completed(), state.message
    [row] = table(prefect_client, state, "retention")
    assert row["what"] == f"execution/{'a' * 64}"
    assert unused.exists()
    state = retention(RetentionConfig(store=str(store.root), dry_run=False), return_state=True)
    assert state.is_completed(), state.message
    assert state.result() > 0
    assert not unused.exists()
    assert all(kept.path(artifact).is_file() for artifact in kept.keys)
