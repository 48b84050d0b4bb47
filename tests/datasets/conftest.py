"""Small real tasks, files of them, and a hub on the loopback interface."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.datasets import load_tasks, resolve
from tests.doubles.hub import HubDouble


def load(source: Path | str, **view: Any) -> pa.Table:
    """The tasks of a source under a view."""
    config = DatasetConfig(source=str(source), **view)
    return load_tasks(config, resolve(config))


@pytest.fixture
def make_task() -> Callable[..., dict[str, Any]]:
    """A sound task in the hub's columns, with whatever the test changes."""

    def make(number: int = 0, **changes: Any) -> dict[str, Any]:
        return {
            "task_id": f"Mine/{number}",
            "complete_prompt": 'import json\ndef task_func(x):\n    """Double it."""\n',
            "instruct_prompt": "Double a number.",
            "canonical_solution": "    return 2 * x\n",
            "code_prompt": "import json\ndef task_func(x):\n",
            "test": (
                "import unittest\nclass TestCases(unittest.TestCase):\n"
                "    def test_two(self):\n        self.assertEqual(task_func(1), 2)\n"
            ),
            "entry_point": "task_func",
            "doc_struct": "{}",
            "libs": "['json', 'numpy']",
            **changes,
        }

    return make


@pytest.fixture
def write_parquet(tmp_path: Path) -> Callable[..., Path]:
    """Write rows to a Parquet file."""

    def write(rows: list[dict[str, Any]], name: str = "tasks.parquet") -> Path:
        path = tmp_path / name
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path

    return write


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubDouble]:
    """A running hub that HF_ENDPOINT names, with an empty cache and no token."""
    with HubDouble() as double:
        monkeypatch.setenv("HF_ENDPOINT", double.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        for name in ("HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield double
