"""A flow run as the tests see it: through Prefect's API, and in its store."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas import filters
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import get_settings_context

from bigcodeflow.config import RunConfig, load_config
from bigcodeflow.core.schemas import STAGE_FOLDERS
from bigcodeflow.pipeline.stages import RunArtifacts
from bigcodeflow.store import Store, open_store
from flows.benchmark import benchmark
from tests.conftest import ROOT

PATIENCE_SECONDS = 300.0
_COMMAND_SECONDS = 300

#: Every stage has a task of its name.
TASKS = tuple(STAGE_FOLDERS)

TaskStates = dict[str, list[str]]
Settings = Callable[..., RunConfig]
RunFlow = Callable[[RunConfig], "ObservedRun"]


@dataclass(frozen=True)
class ObservedRun:
    """A flow run that has ended."""

    id: UUID
    config: RunConfig
    state: State[Any]
    client: SyncPrefectClient

    @property
    def artifacts(self) -> RunArtifacts:
        return self.state.result().artifacts

    @property
    def store(self) -> Store:
        return open_store(self.config.store)

    def assert_states(self, *states: str, **others: Sequence[str]) -> None:
        """Each stage's task had these states, some other ones, and those with none never ran.

        They are waited for, since the server learns of them by and by.
        """
        stages = (*TASKS, *(others.keys() - set(TASKS)))
        expected = {stage: names for stage in stages if (names := list(others.get(stage, states)))}
        seen: TaskStates = {}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            before, seen = seen, self._task_states()
            if seen == expected == before:
                break
            time.sleep(0.3)
        assert seen == expected

    def _task_states(self) -> TaskStates:
        states: TaskStates = {}
        for run in sorted(self.task_runs(), key=lambda run: run.expected_start_time):
            states.setdefault(run.task_key.rpartition("-")[0], []).append(run.state_name)
        return states

    def task_runs(self) -> list[TaskRun]:
        """The run's task runs, as far as the server knows of them."""
        return self.client.read_task_runs(
            flow_run_filter=filters.FlowRunFilter(id=filters.FlowRunFilterId(any_=[self.id]))
        )

    def shown(self) -> dict[str, Any]:
        return shown(self.client, self.id)

    def log(self, text: str) -> list[str]:
        """Log messages of the run, once one of them holds the text."""
        messages: list[str] = []
        deadline = time.monotonic() + PATIENCE_SECONDS
        chosen = filters.LogFilter(flow_run_id=filters.LogFilterFlowRunId(any_=[self.id]))
        while time.monotonic() < deadline and not any(text in message for message in messages):
            time.sleep(0.3)
            messages = [log.message for log in self.client.read_logs(log_filter=chosen)]
        return messages


def observe(config: RunConfig, client: SyncPrefectClient) -> ObservedRun:
    """Run the flow to its end, whatever that is."""
    state = benchmark(config, return_state=True)
    return ObservedRun(state.state_details.flow_run_id, config, state, client)


def settings_in(folder: Path, *overrides: str) -> RunConfig:
    """Three starter tasks, answered by their own solutions, with everything written below a folder."""
    places = (f"store={folder / 'store'}", f"out={folder / 'out'}")
    work = ("dataset.ids=0-2", "samples.source=oracle", "sanitizing.mode=none", "execution.workers=1")
    return load_config(None, (*places, *work, *overrides))


def run_id(state: State[Any]) -> UUID:
    assert state.state_details.flow_run_id
    return state.state_details.flow_run_id


def kind_of(key: str | None) -> str:
    """Artifact's key without the record of its run; empty for none."""
    return re.sub(r"^(scores|failures|result|explorer)-.*", r"\1", key or "")


def shown(client: SyncPrefectClient, run: UUID) -> dict[str, Any]:
    """Data of the latest artifact of each kind that a run has made; Prefect's own records of results have no key."""
    chosen = filters.ArtifactFilter(flow_run_id=filters.ArtifactFilterFlowRunId(any_=[run]))
    found = sorted(client.read_artifacts(artifact_filter=chosen), key=lambda artifact: artifact.created)
    return {kind: artifact.data for artifact in found if (kind := kind_of(artifact.key))}


def prefect(*arguments: str, folder: Path = ROOT) -> None:
    """Prefect's command line in a folder, on the tests' server."""
    variables = get_settings_context().settings.to_environment_variables()
    done = subprocess.run(
        [sys.executable, "-m", "prefect", *arguments],
        cwd=folder,
        env=os.environ | variables | {"PWD": str(folder)},
        capture_output=True,
        text=True,
        timeout=_COMMAND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
