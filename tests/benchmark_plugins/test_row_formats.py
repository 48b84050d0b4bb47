"""Own tasks in the row formats of LiveCodeBench and DS-1000, with answers that show every status."""

import base64
import json
import pickle
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow_benchmarks.livecodebench import test_cases as read_cases
from tests.command import Command

LIVE = "livecodebench/code_generation_lite"
KINDS = {"scripts": LIVE, "methods": LIVE, "contexts": "xlangai/DS-1000"}
LIMITS = ("--set", "execution.limits.time_seconds=3", "--set", "execution.limits.memory_mib=512")


def _check_statuses(command: Command, folder: Path, own_tasks: Path, kind: str, *chosen: str) -> None:
    answers = own_tasks / f"{kind}_answers.jsonl"
    source = f"{KINDS[kind]}={own_tasks / kind}.jsonl"
    words = ("--no-prefect", "--dataset", source, "--samples", answers, "--environment", "starter", "--out", "out")
    command("run", *words, *LIMITS, *chosen)
    expected: dict[str, list[str]] = {}
    for line in map(json.loads, answers.read_text().splitlines()):
        expected.setdefault(line["task_id"], []).append(line["expected_status"])
    rows = pq.read_table(folder / "out/verdicts.parquet").to_pylist()
    assert len({row["status"] for row in rows}) == 7
    found = {(row["task_id"], row["sample_index"]): row["status"] for row in rows}
    assert found == {key: expected[key[0]][key[1]] for key in found}
    assert {row["integrity"] for row in rows if row["status"] == "pass"} == {"checked"}


@pytest.mark.sandbox
@pytest.mark.parametrize("kind", KINDS)
def test_every_status_occurs(command: Command, tmp_path: Path, own_tasks: Path, kind: str) -> None:
    """Six tasks of each kind: references pass and are checked; each faulty program gets its status."""
    _check_statuses(command, tmp_path, own_tasks, kind, "--ids", "0-5")


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("kind", KINDS)
def test_all_own_tasks(command: Command, tmp_path: Path, own_tasks: Path, kind: str) -> None:
    """The same for all twenty tasks of each kind."""
    _check_statuses(command, tmp_path, own_tasks, kind)


def test_tasks_are_chosen_by_their_date(command: Command, own_tasks: Path) -> None:
    """Tasks released from a day on are kept; tasks without a date are not."""
    config = DatasetConfig(source=f"{LIVE}={own_tasks / 'scripts.jsonl'}", released_after="2024-08-01")
    kept = load_tasks(config, resolve(config))
    dates = {json.loads(text)["released"] for text in kept["doc_struct"].to_pylist()}
    assert min(dates) == "2024-08-01"
    assert kept.num_rows == 6
    starter = DatasetConfig(released_after="2024-08-01")
    with pytest.raises(DatasetError, match="no task matches released_after 2024-08-01"):
        load_tasks(starter, resolve(starter))


def test_private_tests_are_read_without_executing_their_pickle() -> None:
    """Compressed pickled JSON is read like plain JSON; a pickle that calls a function is refused."""

    def encoded(value: object) -> str:
        return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()

    cases = [{"input": "1\n", "output": "ä" * 300, "testtype": "stdin"}]
    assert read_cases(json.dumps(cases)) == read_cases(encoded(json.dumps(cases))) == cases
    for value in (print, [json.dumps(cases)], {"a": "b"}):
        with pytest.raises(ValueError, match="a pickle of other things than one text"):
            read_cases(encoded(value))
