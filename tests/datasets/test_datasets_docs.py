"""The documentation of tasks and samples is true."""

import re
from pathlib import Path

import pytest

from bigcodeflow import generation
from bigcodeflow.config import DatasetConfig, SamplesConfig
from bigcodeflow.core.schemas import HUB_COLUMNS
from bigcodeflow.datasets import known_task_ids, load_tasks, parse_source, resolve, validate_source

_TEXT = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")


@pytest.fixture
def example(tmp_path: Path) -> DatasetConfig:
    """The example task of the page as a file."""
    (line,) = re.findall(r"```json\n(.*)\n```", _TEXT)
    path = tmp_path / "mine.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    return DatasetConfig(source=str(path))


def test_the_example_task_is_sound(example: DatasetConfig) -> None:
    """A reader who copies the example has a valid task file, which oracle samples answer."""
    assert validate_source(example) == []
    resolved = resolve(example)
    tasks = load_tasks(example, resolved)
    samples = generation.load_samples(
        SamplesConfig(source="oracle"), tasks, known_task_ids=known_task_ids(example, resolved), selection=False
    )
    assert samples["task_id"].to_pylist() == ["Mine/0"]


def test_every_column_is_documented() -> None:
    """Each column that a file must carry has a row in the page's tables."""
    for column in (*HUB_COLUMNS, "hard", "domains", "expected_tests"):
        assert f"\n| `{column}` |" in _TEXT


@pytest.mark.parametrize("source", ["bigcode/bigcodebench", "bigcode/bigcodebench@v0.1.2", "path/tasks.parquet"])
def test_documented_sources_are_understood(source: str) -> None:
    """The sources that the page names can be written into a preset as they stand."""
    assert f"`{source}`" in _TEXT
    assert parse_source(source)
