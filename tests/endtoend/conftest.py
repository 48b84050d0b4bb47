"""A service for the tests of each module, and work that takes as long as a test wants."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bigcodeflow.core.paths import shipped
from bigcodeflow.judge.environments import InstalledEnvironment
from tests.endtoend.service import Service

Config = Callable[..., dict[str, Any]]


def write_samples(path: Path, count: int = 3, *, sleep_seconds: float = 0.0) -> Path:
    """The starter tasks' own solutions, one a task, that first sleep so long."""
    pause = f"import time\ntime.sleep({sleep_seconds})\n" if sleep_seconds else ""
    lines = shipped("data/starter/tasks.jsonl").read_text().splitlines()[:count]
    rows = [
        {"task_id": task["task_id"], "solution": pause + task["complete_prompt"] + task["canonical_solution"]}
        for task in map(json.loads, lines)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def service(starter_environment: InstalledEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Ends with its module, so that it takes no time from tests of other folders."""
    with Service(tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Makes parameters of runs on the first starter tasks that write below the test's folder."""
    small = {"samples": {"source": "oracle"}, "sanitizing": {"mode": "none"}, "execution": {"workers": 2}}
    places = {name: str(tmp_path / name) for name in ("store", "out")}
    return lambda *, tasks=3, **sections: {**small, **places, "dataset": {"ids": f"0-{tasks - 1}"}, **sections}
