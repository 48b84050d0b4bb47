"""A service for the tests of each module, and work that takes as long as a test wants."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.paths import shipped
from bigcodeflow.environments import InstalledEnvironment
from tests.endtoend.service import Service

Config = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def service(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Ends with its module, so that it takes no time from other rooms' tests."""
    with Service(tmp_path_factory.mktemp("service")) as service:
        yield service


def starter_tasks(count: int) -> list[dict[str, Any]]:
    """The first tasks of the starter set."""
    with shipped("data/starter/tasks.jsonl").open() as lines:
        return [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]


def write_samples(path: Path, count: int, *, sleep_seconds: float = 0.0) -> Path:
    """The starter tasks' own solutions, one a task, that first sleep so long."""
    pause = f"import time\ntime.sleep({sleep_seconds})\n" if sleep_seconds else ""
    rows = [
        {"task_id": task["task_id"], "solution": pause + task["complete_prompt"] + task["canonical_solution"]}
        for task in starter_tasks(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Parameters of runs on the first starter tasks, with everything written below the test's folder."""

    def make(*, tasks: int = 3, **sections: Any) -> dict[str, Any]:
        small: dict[str, Any] = {
            "store": str(tmp_path / "store"),
            "out": str(tmp_path / "out"),
            "dataset": {"ids": f"0-{tasks - 1}"},
            "samples": {"source": "oracle"},
            "sanitizing": {"mode": "none"},
            "execution": {"workers": 2},
        }
        return small | sections

    return make
