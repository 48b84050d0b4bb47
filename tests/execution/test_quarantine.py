"""The quarantine: fresh executions counted over checks and kills, and a list that runs can take note of."""

import json
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import QUARANTINE
from bigcodeflow.execution.environment_check import repeat_ground_truths
from bigcodeflow.execution.quarantine import quarantine_path, quarantined, read_quarantine
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.store import open_store
from tests.conftest import ROOT

from .conftest import CONFIG

pytestmark = [pytest.mark.sandbox, pytest.mark.filterwarnings("default")]

COIN = "\n    def test_zz_coin(self):\n        import random\n        self.assertEqual(random.choice([1, 2]), 1)\n"


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    """Three tasks: sound, one whose test tosses a coin, one that needs the internet."""
    rows = [json.loads(line) for line in (ROOT / "data/starter/tasks.jsonl").read_text().splitlines()[:3]]
    rows[1]["test"] = rows[1]["test"].rstrip() + "\n" + COIN
    network = "    import urllib.request\n    urllib.request.urlopen('http://example.org')\n"
    rows[2]["canonical_solution"] = network + rows[2]["canonical_solution"]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _tasks(task_file: Path) -> pa.Table:
    config = DatasetConfig(source=str(task_file))
    return datasets.load_tasks(config, datasets.resolve(config))


Repeat = Callable[..., list[dict]]


@pytest.fixture
def repeat(task_file: Path, tmp_path: Path, workers: Workers, starter_environment: InstalledEnvironment) -> Repeat:
    """Executes the ground truths of the task file so often."""
    where = {"config": CONFIG, "environment": starter_environment, "workers": workers}
    store = open_store(tmp_path / "store")
    return lambda times, **options: repeat_ground_truths(
        _tasks(task_file), times=times, store=store, **where, **options
    )


@pytest.mark.slow
def test_what_ever_failed_is_listed_and_counted_over_checks(
    repeat: Repeat, task_file: Path, tmp_path: Path, starter_environment: InstalledEnvironment
) -> None:
    """A coin of a test and a missing network are found, with counts and reason; a second check adds to the first."""
    store, seen = open_store(tmp_path / "store"), []
    sound, _, network = repeat(2, progress=lambda done, total: seen.append((done, total)))
    assert (sound["executions"], sound["passes"], sound["statuses"], sound["reason"]) == (2, 2, ["pass"], "")
    assert (network["passes"], network["statuses"], network["reason"]) == (0, ["fail"], "network")
    assert (seen[0], seen[-1]) == ((0, 6), (6, 6))
    task_file.write_text(task_file.read_text().splitlines()[1] + "\n")
    [coin] = repeat(22)
    assert coin["executions"] == 24
    assert 0 < coin["passes"] < 24
    assert coin["statuses"] == ["fail", "pass"]
    assert "AssertionError" in coin["evidence"]
    sha = starter_environment.environment_sha
    rows = read_quarantine(store, sha)
    assert rows == [sound, coin, network]
    assert [row["task_id"] for row in quarantined(rows)] == ["Starter/1", "Starter/2"]
    assert pq.read_schema(quarantine_path(store, sha)).equals(QUARANTINE)
    assert not list(store.root.glob("quarantine/*.partial"))


@pytest.mark.parametrize(
    ("broken", "times", "known"), [("execution.environment_check.locked", 2, 3), ("store.store.Store.discard", 1, 0)]
)
def test_an_interrupted_check_goes_on_where_it_stopped(
    repeat: Repeat, monkeypatch: pytest.MonkeyPatch, broken: str, times: int, known: int
) -> None:
    """What ended before it was counted is not executed again; what was counted is not counted again."""
    with monkeypatch.context() as patches:
        patches.setattr(f"bigcodeflow.{broken}", Mock(side_effect=RuntimeError("stopped")))
        with pytest.raises(RuntimeError, match="stopped"):
            repeat(1)
    seen: list[tuple[int, int]] = []
    rows = repeat(times, progress=lambda done, total: seen.append((done, total)))
    assert (seen[0][0], seen[-1]) == (known, (3 * times, 3 * times))
    assert [row["executions"] for row in rows] == [2, 2, 2]


def test_another_test_text_has_a_row_of_its_own(
    repeat: Repeat, task_file: Path, tmp_path: Path, starter_environment: InstalledEnvironment
) -> None:
    """A mended test starts with a clean slate, and what was said of the old text stays."""
    store = open_store(tmp_path / "store")
    repeat(1)
    rows = [json.loads(line) for line in task_file.read_text().splitlines()]
    task_file.write_text(json.dumps(rows[1] | {"test": rows[1]["test"].replace(COIN, "")}) + "\n")
    [mended] = repeat(3)
    assert (mended["executions"], mended["passes"]) == (3, 3)
    assert len(read_quarantine(store, starter_environment.environment_sha)) == 4


def test_a_damaged_list_is_named(tmp_path: Path) -> None:
    """A file that is no list is one clear error, not an empty quarantine."""
    store = open_store(tmp_path)
    assert read_quarantine(store, "sha") == []
    quarantine_path(store, "sha").parent.mkdir()
    quarantine_path(store, "sha").write_text("nonsense")
    with pytest.raises(ArtifactError, match=r"sha\.parquet: is no quarantine list .*delete it and run"):
        read_quarantine(store, "sha")
