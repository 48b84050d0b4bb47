"""A service for the tests of each module, and work that takes as long as a test wants."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.paths import shipped
from bigcodeflow.judge.environments import InstalledEnvironment
from tests.endtoend.service import Service

Config = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def service(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Ends with its module, so that it takes no time from tests of other folders."""
    with Service(tmp_path_factory.mktemp("service")) as service:
        yield service


def write_samples(path: Path, count: int, *, sleep_seconds: float = 0.0) -> Path:
    """The starter tasks' own solutions, one a task, that first sleep so long."""
    pause = f"import time\ntime.sleep({sleep_seconds})\n" if sleep_seconds else ""
    lines = shipped("data/starter/tasks.jsonl").read_text().splitlines()[:count]
    rows = [
        {"task_id": task["task_id"], "solution": pause + task["complete_prompt"] + task["canonical_solution"]}
        for task in map(json.loads, lines)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def config_in(folder: Path, *, tasks: int = 3, **sections: Any) -> dict[str, Any]:
    """Parameters of a run on the first starter tasks, with everything written below a folder."""
    small: dict[str, Any] = {
        "store": str(folder / "store"),
        "out": str(folder / "out"),
        "dataset": {"ids": f"0-{tasks - 1}"},
        "samples": {"source": "oracle"},
        "sanitizing": {"mode": "none"},
        "execution": {"workers": 2},
    }
    return small | sections


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Parameters of runs that write below the test's folder."""
    return partial(config_in, tmp_path)
