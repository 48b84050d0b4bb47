"""The starter set is a dataset like any other, and needs nothing but the installation."""

import pytest

from bigcodeflow import generation
from bigcodeflow.config import DatasetConfig, SamplesConfig
from bigcodeflow.datasets import known_task_ids, load_tasks, resolve, validate_source

_CONFIG = DatasetConfig(source="starter")


@pytest.fixture
def starter_source(monkeypatch: pytest.MonkeyPatch) -> DatasetConfig:
    """The starter set with a hub address that leads nowhere."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    return _CONFIG


def test_the_starter_tasks_are_sound_and_numbered(starter_source: DatasetConfig) -> None:
    """Every starter task passes validation, in the order of its number, with domains and tests."""
    assert validate_source(starter_source) == []
    table = load_tasks(starter_source, resolve(starter_source))
    assert table["task_id"].to_pylist() == [f"Starter/{number}" for number in range(table.num_rows)]
    assert table.num_rows >= 40
    assert all(table["expected_tests"].to_pylist())
    assert resolve(starter_source).describe.startswith("starter (file ")


def test_the_starter_set_has_a_hard_part(starter_source: DatasetConfig) -> None:
    """The hard view of the starter set is neither empty nor everything."""
    hard = load_tasks(DatasetConfig(source="starter", subset="hard"), resolve(starter_source))
    assert 0 < hard.num_rows < load_tasks(starter_source, resolve(starter_source)).num_rows


def test_the_starter_answers_fit_the_starter_tasks(starter_source: DatasetConfig) -> None:
    """The recorded answers answer every starter task, by a file that is identified by its content."""
    resolved = resolve(starter_source)
    tasks = load_tasks(starter_source, resolved)
    config = SamplesConfig(source="starter")
    known = known_task_ids(starter_source, resolved)
    samples = generation.load_samples(config, tasks, known_task_ids=known, selection=False)
    assert set(samples["task_id"].to_pylist()) == set(tasks["task_id"].to_pylist())
    assert list(generation.fingerprint(config)) == ["samples_sha256"]
