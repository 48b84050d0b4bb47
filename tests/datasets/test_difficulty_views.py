"""Difficulty: names and ranges of solve rates, and views by the shipped rates, a file's and the authors' own."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import DatasetConfig, load_settings
from bigcodeflow.core.difficulty import (
    LEVELS,
    SHIPPED_SOLVE_RATES,
    parse_difficulty,
    published_solve_rates,
    tasks_of,
)
from bigcodeflow.core.errors import ConfigError, DatasetError
from bigcodeflow.datasets import resolve
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS
from bigcodeflow.pipeline.resolution import Resolver
from tests.conftest import ROOT

from .conftest import load

_RATES = {"Mine/0": 0.0, "Mine/1": 20.0, "Mine/2": 55.5, "Mine/3": 100.0}


@pytest.fixture
def tasks(make_task, write_parquet) -> Path:
    """Five tasks of one's own."""
    return write_parquet([make_task(number) for number in range(5)])


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    """Solve rates of four of them, in percent."""
    path = tmp_path / "rates.jsonl"
    path.write_text("".join(json.dumps({"task_id": one, "solve_rate": rate}) + "\n" for one, rate in _RATES.items()))
    return path


def ids(source: Path, **view: Any) -> list[str]:
    return [task_id.rpartition("/")[2] for task_id in load(source, **view)["task_id"].to_pylist()]


@pytest.mark.parametrize(
    ("difficulty", "kept"),
    [("hard", ["0", "1"]), ("Medium", ["2"]), ("easy", ["3"]), ("0.2-0.6", ["1", "2"]), (" 0.555 - 1.0 ", ["2", "3"])],
)
def test_a_file_of_solve_rates_chooses_tasks(tasks: Path, rates: Path, difficulty: str, kept: list[str]) -> None:
    """Rates are percent in the file and shares in the setting; a task without a rate is in no view."""
    assert ids(tasks, difficulty=difficulty, solve_rates=str(rates)) == kept


def test_the_shipped_rates_are_of_every_task(make_task, write_parquet) -> None:
    """1,140 tasks, each in one level, none of which is empty; without a source of rates, a view takes them."""
    assert published_solve_rates().keys() == BIGCODEBENCH_IDS
    levels = [tasks_of(level) for level in LEVELS.values()]
    assert all(levels)
    assert sum(map(len, levels)) == len(BIGCODEBENCH_IDS)
    source = write_parquet([make_task(task_id=f"BigCodeBench/{number}") for number in range(20)])
    hard = [number for number in range(20) if f"BigCodeBench/{number}" in tasks_of(LEVELS["hard"])]
    assert ids(source, difficulty="hard") == [str(number) for number in hard]


def test_the_authors_own_rates_come_from_the_hub(hub, tasks: Path) -> None:
    """A split of their dataset is pinned to its commit, like the tasks of a hub dataset."""
    content = io.BytesIO()
    pq.write_table(pa.table({"task_id": [*_RATES], "solve_rate": [*_RATES.values()]}), content)
    commit = hub.commit("bigcode/bigcodebench-solve-rate", {"data/complete-00000-of-00001.parquet": content.getvalue()})
    name = "bigcode/bigcodebench-solve-rate@complete"
    assert ids(tasks, difficulty="hard", solve_rates=name) == ["0", "1"]
    settings = {
        "dataset": {"source": str(tasks), "difficulty": "hard", "solve_rates": name},
        "samples": {"source": "oracle"},
    }
    run = Resolver().up_to_sanitizing(load_settings(settings, "test"))
    assert run.config.dataset.solve_rates == f"{name}#{commit}"
    assert run.contents["dataset"].identity["solve_rates"]["commit"] == commit


def test_other_rates_are_another_dataset(tasks: Path, rates: Path) -> None:
    """The content of the rates is part of what identifies the tasks, and nothing of it where no difficulty is asked."""
    plain = resolve(DatasetConfig(source=str(tasks), solve_rates=str(rates)))
    assert "solve_rates" not in plain.fingerprint
    view = DatasetConfig(source=str(tasks), difficulty="hard", solve_rates=str(rates))
    before = resolve(view).fingerprint
    rates.write_text(rates.read_text().replace("20.0", "30.0"))
    assert resolve(view).fingerprint != before
    assert "solve rates: " in resolve(view).describe


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"task_id": "Mine/0", "solve_rate": 101}', r"line 1 \(Mine/0\): solve_rate is 101: write a percentage, 0"),
        ('{"task_id": "Mine/0"}', "solve_rate is None"),
        ('{"solve_rate": 5}', "line 1: has no task_id"),
    ],
)
def test_rates_that_are_none_are_named(tasks: Path, tmp_path: Path, line: str, message: str) -> None:
    """Every bad line with its place and the remedy."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text(line + "\n")
    with pytest.raises(DatasetError, match=message):
        load(tasks, difficulty="hard", solve_rates=str(bad))


def test_what_cannot_be_chosen_says_why(tasks: Path, rates: Path) -> None:
    """No known rate, no such source, no task left, no such level."""
    with pytest.raises(DatasetError, match=r"no task of .* has a known solve rate.*dataset\.solve_rates"):
        load(tasks, difficulty="hard")
    with pytest.raises(DatasetError, match=r"dataset\.solve_rates 'nowhere' is neither"):
        load(tasks, difficulty="hard", solve_rates="nowhere")
    with pytest.raises(DatasetError, match=r"no task matches difficulty 0\.9-0\.95"):
        load(tasks, difficulty="0.9-0.95", solve_rates=str(rates))
    with pytest.raises(ConfigError, match=r"dataset\.difficulty: 'harder' is neither hard, medium, easy"):
        load_settings({"dataset": {"difficulty": "harder"}}, "test")


@given(st.floats(0, 1))
def test_every_solve_rate_lies_in_exactly_one_named_range(rate: float) -> None:
    """Hard, medium and easy leave no gap and share no rate."""
    assert sum(level.holds(rate) for level in LEVELS.values()) == 1


@pytest.mark.parametrize("text", ["", "harder", "0.2", "0.5-0.2", "-1-0.5", "0-20", "0-nan", "a-b"])
def test_another_text_is_refused_with_what_would_do(text: str) -> None:
    """The message names the levels and a range."""
    with pytest.raises(ValueError, match=r"neither hard, medium, easy nor a range of solve rates such as 0-0\.2"):
        parse_difficulty(text)


@pytest.mark.real_data
def test_the_shipped_rates_are_made_of_the_recorded_results(reference_data, tmp_path, monkeypatch) -> None:
    """The script writes the shipped file again, byte for byte."""
    from benchmarks import solve_rates

    files = sorted(reference_data.glob("samples/*/*_eval_results.json.gz"))
    monkeypatch.setattr(sys, "argv", ["solve_rates", *map(str, files), "--out", str(tmp_path / "rates.jsonl")])
    solve_rates.main()
    assert (tmp_path / "rates.jsonl").read_bytes() == (ROOT / SHIPPED_SOLVE_RATES).read_bytes()
