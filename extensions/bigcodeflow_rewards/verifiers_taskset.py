"""Taskset for the library verifiers, of tasks with tests; rewards come from the verdicts of a running service.

The library loads a taskset by the name of a top-level module; docs/rewards.md shows a module with this taskset.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from bigcodeflow_rewards import TASK_COLUMNS, RewardKind, RewardService, ServiceReward

__all__ = ["TestedTaskset"]


class TestedData(vf.TaskData):
    """Data of a task: its prompt, and the columns for judging a completion."""

    columns: dict[str, Any]
    """Columns of TASK_COLUMNS that the task has, with their values."""


class TestedConfig(vf.TaskConfig):
    """Settings for judging completions."""

    service_url: str = "http://127.0.0.1:8017"
    """Address of the service."""
    kind: RewardKind = "pass"
    """'pass' rewards passes alone, 'pass_share' the share of tests that pass."""
    time_seconds: float = 20.0
    """Time limit of each program, in seconds."""
    fail_fast: bool = False
    """End each program at its first failing test."""
    patience_seconds: float = 600.0
    """Longest time of retries for a reply, in seconds, while the service is busy, unreachable or faulty."""


class TestedTask(vf.Task[TestedData, vf.State, TestedConfig]):
    """One task; if the service fails, the rollout has an error and no reward."""

    __test__ = False  # no test class of pytest, whatever its name begins with

    @vf.reward
    async def solved(self, trace: vf.Trace) -> float:
        """Judge the last reply and return its reward, from 0.0 to 1.0."""
        config = self.config
        service = RewardService(
            config.service_url,
            time_seconds=config.time_seconds,
            fail_fast=config.fail_fast,
            patience_seconds=config.patience_seconds,
            concurrency=1,
        )
        columns = {name: [value] for name, value in self.data.columns.items()}
        function = ServiceReward(service, config.kind)
        [found] = await asyncio.to_thread(function, [self.data.prompt], [trace.last_reply], **columns)
        if found is None:
            raise vf.SandboxError(f"the service at {config.service_url} could not judge the reply: read the run's log")
        return found


class TestedTasksetConfig(vf.TasksetConfig):
    """Settings of the taskset: its file, prompts and judging."""

    tasks: Path = Path("tasks.jsonl")
    """JSON Lines file with BigCodeBench's columns, one task per line."""
    prompt: str = "instruct_prompt"
    """Column with the prompt for the model."""
    task: TestedConfig = TestedConfig()
    """Settings for judging completions."""


class TestedTaskset(vf.Taskset[TestedTask, TestedTasksetConfig]):
    """Taskset of the tasks in a JSON Lines file."""

    __test__ = False

    def load(self) -> Iterator[TestedTask]:
        with self.config.tasks.open(encoding="utf-8") as file:
            for row in map(json.loads, file):
                columns = {name: row[name] for name in TASK_COLUMNS if name in row}
                data = TestedData(id=row.get("task_id"), prompt=row[self.config.prompt], columns=columns)
                yield TestedTask(data, self.config.task)
