"""The starter set is a dataset like any other, and needs nothing but the installation."""

import pytest

from bigcodeflow import generation
from bigcodeflow.config import DatasetConfig, SamplesConfig
from bigcodeflow.datasets import known_task_ids, resolve, validate_source

from .conftest import load

_CONFIG = DatasetConfig(source="starter")


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub address that leads nowhere."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")


def test_the_starter_tasks_are_sound_and_numbered() -> None:
    """Every starter task passes validation, in the order of its number, with domains and tests."""
    assert validate_source(_CONFIG) == []
    table = load("starter")
    assert table["task_id"].to_pylist() == [f"Starter/{number}" for number in range(table.num_rows)]
    assert table.num_rows >= 40
    assert all(table["expected_tests"].to_pylist())
    assert resolve(_CONFIG).describe.startswith("starter (file ")


def test_the_starter_set_has_a_hard_part() -> None:
    """The hard view of the starter set is neither empty nor everything."""
    assert 0 < load("starter", subset="hard").num_rows < load("starter").num_rows


def test_the_starter_answers_fit_the_starter_tasks() -> None:
    """The recorded answers answer every starter task, by a file that is identified by its content."""
    tasks, known = load("starter"), known_task_ids(_CONFIG, resolve(_CONFIG))
    config = SamplesConfig(source="starter")
    samples = generation.load_samples(config, tasks, known_task_ids=known, selection=False)
    assert set(samples["task_id"].to_pylist()) == set(tasks["task_id"].to_pylist())
    assert list(generation.fingerprint(config)) == ["samples_sha256"]
