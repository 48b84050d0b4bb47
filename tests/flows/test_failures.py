"""Runs that fail: what they say, and what it takes to go on."""

import json
import logging
import shlex
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from prefect import flow, task
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Failed

from bigcodeflow.config import RunConfig
from bigcodeflow.core.errors import BigCodeFlowError, DatasetError, ExecutionError, SamplesError
from bigcodeflow.core.paths import shipped
from bigcodeflow.pipeline.resolution import ResolvedRun, resolve
from bigcodeflow.pipeline.stages import Stage
from bigcodeflow.store import ArtifactRef
from flows.benchmark import benchmark
from flows.hooks import how_to_continue
from tasks.stages import TASK_OPTIONS, perform_stage, worth_another_try
from tests.flows.observed import RunFlow, Settings, prefect, settings_in

pytestmark = pytest.mark.flow


def write_samples(path: Path, *, numbers: range = range(3)) -> None:
    """The starter tasks' own solutions as a sample file."""
    with shipped("data/starter/tasks.jsonl").open() as lines:
        tasks = [json.loads(line) for line, _ in zip(lines, numbers, strict=False)]
    rows = [
        {"task_id": task["task_id"], "solution": task["complete_prompt"] + task["canonical_solution"]} for task in tasks
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_broken_sample_file_fails_with_one_message(run_flow: RunFlow, tmp_path: Path) -> None:
    """The run fails with the stage's own message, which the log holds without traceback; the stage is not tried twice."""
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"task_id": "Starter/0", "solution": \n')
    run = run_flow(settings_in(tmp_path, f"samples.source={broken}"))
    assert run.state.is_failed()
    assert run.state.message.startswith(f"{broken}, line 1: is not JSON")
    run.assert_states(dataset=["Completed"], generation=["Failed"])
    with pytest.raises(SamplesError, match="line 1"):
        run.state.result()
    messages = run.log("prefect flow-run retry")
    assert all("line 1: is not JSON" in message for message in messages if "prefect flow-run retry" in message)
    assert not [message for message in messages if "Traceback" in message]


@pytest.mark.slow
def test_mended_run_goes_on_where_it_failed(settings: Settings, run_flow: RunFlow, tmp_path: Path) -> None:
    """Once the sample file is mended, a new run keeps what was finished and performs the rest."""
    file = tmp_path / "mine.jsonl"
    file.write_text("{\n")
    config = settings(f"samples.source={file}")
    assert run_flow(config).state.is_failed()
    write_samples(file)
    run = run_flow(config)
    run.assert_states("Completed", dataset=["Cached"], ground_truth=["Cached"])
    assert run.artifacts.execution.statistics["executed"] == 0, "equal programs were judged in the first run"


@pytest.mark.slow
def test_logged_command_continues_the_failed_run(settings: Settings, run_flow: RunFlow, tmp_path: Path) -> None:
    """The log of a failed run names the command that continues it, and that command does."""
    file = tmp_path / "mine.jsonl"
    run = run_flow(settings(f"samples.source={file}"))
    remedy = next(message for message in run.log("prefect flow-run retry") if "prefect flow-run retry" in message)
    command = shlex.split(remedy.split("`")[-2])
    write_samples(file)
    assert command[0] == "prefect"
    prefect(*command[1:])
    assert run.client.read_flow_run(run.id).state.is_completed()
    run.assert_states("Completed", dataset=["Cached"], ground_truth=["Cached"])


def test_absent_sample_file_is_reported_once(run_flow: RunFlow, tmp_path: Path) -> None:
    """A file that is absent fails the run before any stage, with one message and no traceback."""
    run = run_flow(settings_in(tmp_path, f"samples.source={tmp_path / 'absent.jsonl'}"))
    assert run.state.message.startswith(f"{tmp_path / 'absent.jsonl'}: cannot be opened")
    messages = run.log("prefect flow-run retry")
    assert not [message for message in messages if "Traceback" in message]


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(ExecutionError("the cluster was lost: run again"), 2), (DatasetError("no such task: name another"), 1)],
    ids=["infrastructure", "user"],
)
def test_only_infrastructure_is_tried_again(error: BigCodeFlowError, attempts: int, tmp_path: Path) -> None:
    """A stage that fails for a reason outside the samples gets a second attempt, a user's mistake does not."""
    started: list[int] = []

    def compute(_store: object, _progress: object) -> tuple[pa.Table, dict[str, int]]:
        started.append(1)
        if len(started) == 1:
            raise error
        return pa.table({"n": [1]}), {}

    @task(**TASK_OPTIONS | {"retry_delay_seconds": 0})
    def failing(run: ResolvedRun) -> State[ArtifactRef]:
        return perform_stage(Stage("failing", "failing", {"test": str(tmp_path)}, (), 1, compute), run)

    @flow
    def once(config: RunConfig) -> bool:
        try:
            return failing(resolve(config), return_state=True).result().rows == 1
        except BigCodeFlowError:
            return False

    assert once(settings_in(tmp_path)) == (attempts == 2)
    assert len(started) == attempts


def test_retry_condition_reads_the_exception() -> None:
    """The condition judges the exception behind a failed state, not its text."""
    assert worth_another_try(None, None, Failed(data=ExecutionError("x")))
    assert not worth_another_try(None, None, Failed(data=SamplesError("ExecutionError")))


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "`prefect flow-run retry {id} --entrypoint flows.benchmark.benchmark`"),
        ({"deployment_id": uuid4()}, "`prefect flow-run retry {id}`"),
        ({"parent_task_run_id": uuid4()}, "retry the run that it is part of"),  # which would not learn of its retry
    ],
)
def test_remedy_names_the_flow_only_where_prefect_needs_it(place: dict, text: str) -> None:
    """A deployed run is retried by its id, one without deployment with its flow, and a part of a sweep by its sweep.

    Only the page of a deployed run has *Retry*.
    """
    run = FlowRun(flow_id=uuid4(), **place)
    remedy = how_to_continue(benchmark, run)
    assert text.format(id=run.id) in remedy
    assert ("*Retry*" in remedy) == ("deployment_id" in place)


@pytest.mark.parametrize("name", ["prefect.flow_runs", "prefect.task_runs", "prefect.engine"])
def test_only_errors_that_a_user_can_mend_lose_their_traceback(name: str) -> None:
    """What Prefect says of any error that leaves a flow is left out, since the error's own message stands above it."""

    def record(message: str, error: Exception) -> logging.LogRecord:
        return logging.LogRecord(name, logging.ERROR, "", 0, message, (), (type(error), error, None))

    logger, said = logging.getLogger(name), "Engine execution exited with unexpected exception"
    mended, defect = record("failed", SamplesError("line 1")), record(said, ValueError("ours"))
    assert logger.filter(mended)
    assert mended.exc_info is None
    assert logger.filter(defect)
    assert defect.exc_info is not None
    assert not logger.filter(record(said, SamplesError("line 1")))
