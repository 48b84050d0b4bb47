"""Runs that fail: what they say, and what it takes to go on."""

import logging
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from prefect import flow
from prefect.client.schemas.objects import FlowRun, State

from bigcodeflow.core.errors import BigCodeFlowError, DatasetError, ExecutionError, SamplesError
from bigcodeflow.pipeline.stages import Stage
from bigcodeflow.store import ArtifactRef, open_store
from flows.benchmark import benchmark
from flows.hooks import how_to_continue
from tasks.stages import as_task, perform_stage
from tests.flows.observed import RunFlow, settings_in

pytestmark = pytest.mark.flow


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

    @as_task(retry_delay_seconds=0)
    def failing() -> State[ArtifactRef]:
        stage = Stage("failing", "failing", {"test": str(tmp_path)}, (), 1, compute)
        return perform_stage(stage, open_store(tmp_path / "store"))

    @flow
    def once() -> bool:
        try:
            return failing(return_state=True).result().rows == 1
        except BigCodeFlowError:
            return False

    assert once() == (attempts == 2)
    assert len(started) == attempts


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "`prefect flow-run retry {id} --entrypoint flows.benchmark.benchmark`"),
        ({"deployment_id": uuid4()}, "`prefect flow-run retry {id}`"),
        ({"parent_task_run_id": uuid4()}, "retry the run that it is part of"),  # which would not learn of its retry
    ],
)
def test_remedy_names_the_flow_only_where_prefect_needs_it(place: dict, text: str) -> None:
    """A deployed run is retried by its id or on its page, one without deployment with its flow."""
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
