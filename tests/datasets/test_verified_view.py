"""The verified view and overlays: what is corrected, left out or refused, and what identifies the result."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errata import correction_of, corrections, errata, is_judged_alike, is_left_out, task_sha256
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.schemas import HUB_COLUMNS
from bigcodeflow.datasets import resolve, validate_source
from bigcodeflow.results.verified import verified_scores, verified_table

from .conftest import load

#: Of each kind some: left out, corrected in test and in solution, with errata that change nothing, without any.
_IDS = ("57", "59", "272", "332", "1006", "1085")
Make = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def some_tasks(reference_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet")
    wanted = pa.array([f"BigCodeBench/{number}" for number in _IDS])
    path = tmp_path_factory.mktemp("tasks") / "some.parquet"
    pq.write_table(table.filter(pc.is_in(table["task_id"], wanted)), path)
    return path


@pytest.fixture
def overlay(tmp_path: Path) -> Callable[..., str]:
    def write(*rows: dict[str, Any]) -> str:
        path = tmp_path / "overlay.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)

    return write


def test_errata_name_their_task_kind_and_a_command() -> None:
    """A claim without a command that shows it is not taken in; a correction belongs to an erratum."""
    kinds = {"wrong test", "too weak", "underspecified", "flaky", "network", "environment"}
    for one in errata():
        assert one.kind in kinds
        assert one.evidence.startswith("bigcodeflow ")
        assert one.task.rpartition("/")[2] in one.evidence.split()
        assert one.verified in ("keep", "correct", "leave out")
    corrected = {(one.task, one.task_sha256) for one in errata() if one.verified == "correct"}
    assert corrected == {(str(row["task_id"]), sha) for sha, row in corrections().items()}
    assert all(set(row) <= set(HUB_COLUMNS) for row in corrections().values())


def test_errata_were_found_in_the_texts_of_the_benchmark(reference_data: Path) -> None:
    """Each has the identity of a task's texts at v0.1.4."""
    columns = ["task_id", "complete_prompt", "canonical_solution", "test"]
    rows = pq.read_table(reference_data / "bigcodebench-v0.1.4.parquet", columns=columns).to_pylist()
    known = {row["task_id"]: task_sha256(row) for row in rows}
    assert [one.task for one in errata() if known[one.task] != one.task_sha256] == []


def test_the_verified_view_leaves_out_and_corrects(some_tasks: Path) -> None:
    """Other tasks are as they were, and each keeps its place in the source."""
    original = {row["task_id"]: row for row in load(some_tasks).to_pylist()}
    verified = {row["task_id"]: row for row in load(some_tasks, view="verified").to_pylist()}
    assert original.keys() - verified.keys() == {"BigCodeBench/59", "BigCodeBench/272"}
    assert "test_valid_zip" in verified["BigCodeBench/1006"]["expected_tests"]
    assert verified["BigCodeBench/1085"]["test"] == original["BigCodeBench/1085"]["test"]
    assert "import punctuation" in verified["BigCodeBench/1085"]["canonical_solution"]
    for task_id in ("BigCodeBench/57", "BigCodeBench/332"):
        assert verified[task_id] == original[task_id]
    assert validate_source(DatasetConfig(source=str(some_tasks), view="verified")) == []


def test_a_task_of_another_text_has_no_errata(some_tasks: Path) -> None:
    """What was found in v0.1.4 is not claimed of a later version, nor of somebody's own task of that id."""
    rows = {row["task_id"]: row for row in load(some_tasks).to_pylist()}
    page, archive = rows["BigCodeBench/59"], rows["BigCodeBench/1006"]
    assert is_left_out(page)
    assert correction_of(archive)
    assert not is_judged_alike(archive)
    assert is_judged_alike(rows["BigCodeBench/1085"])  # its solution alone is corrected
    assert not is_left_out(page | {"test": page["test"] + "\n"})
    assert not correction_of(archive | {"complete_prompt": "another"})


def test_an_overlay_changes_the_columns_that_it_has(make_task: Make, write_parquet: Any, overlay: Any) -> None:
    """Expected tests follow from a new test text; nulls change nothing."""
    test = make_task()["test"].replace("test_two", "test_double")
    path = overlay({"task_id": "Mine/1", "test": test, "libs": None})
    rows = load(write_parquet([make_task(0), make_task(1)]), overlay=path).to_pylist()
    assert [row["expected_tests"] for row in rows] == [["test_two"], ["test_double"]]
    assert rows[1]["libs"] == ["json", "numpy"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"task_id": ["Mine/0"], "test": "x"}, "which the dataset does not have"),
        ({"task_id": "Mine/7", "test": "x"}, "corrects 'Mine/7', which the dataset does not have"),
        ({"task_id": "Mine/0", "tests": "x"}, "has unknown columns tests"),
        ({"task_id": "Mine/0", "task_sha256": "0" * 64, "test": "x"}, "is for another text of this task"),
        ({"task_id": "Mine/0", "test": "def"}, "test does not compile"),
    ],
)
def test_an_overlay_that_does_not_fit_is_refused(
    make_task: Make, write_parquet: Any, overlay: Any, row: dict[str, Any], problem: str
) -> None:
    """A correction that silently applied to nothing would leave the fault in the score."""
    with pytest.raises(DatasetError, match=problem) as refused:
        load(write_parquet([make_task()]), overlay=overlay(row))
    assert "overlay.jsonl, line 1" in str(refused.value)


def test_an_overlay_is_there_and_corrects_a_task_once(make_task: Make, write_parquet: Any, overlay: Any) -> None:
    """Of two rows the last would win without a word; a file that cannot be is named with the setting."""
    for name, message in (("absent.jsonl", "cannot be opened .*correct dataset.overlay"), ("a.txt", "is not a task")):
        with pytest.raises(DatasetError, match=message):
            resolve(DatasetConfig(source="starter", overlay=name))
    path = overlay({"task_id": "Mine/0", "instruct_prompt": "One."})
    Path(path).write_text(2 * Path(path).read_text())
    with pytest.raises(DatasetError, match=r"line 2 \(Mine/0\): is corrected in .*line 1 already"):
        load(write_parquet([make_task()]), overlay=path)


def test_view_and_overlay_identify_the_content(make_task: Make, write_parquet: Any, overlay: Any) -> None:
    """Neither changes what identifies a source by default; another overlay is another content."""
    source = str(write_parquet([make_task()]))
    plain = resolve(DatasetConfig(source=source)).fingerprint
    assert list(plain) == ["file_sha256"]
    path = overlay({"task_id": "Mine/0", "instruct_prompt": "Double it."})
    first = resolve(DatasetConfig(source=source, overlay=path)).fingerprint
    overlay({"task_id": "Mine/0", "instruct_prompt": "Twice as much."})
    assert plain != first != resolve(DatasetConfig(source=source, overlay=path)).fingerprint
    assert "errata_sha256" in resolve(DatasetConfig(source=source, view="verified")).fingerprint


def test_a_run_on_the_original_tasks_has_a_verified_score(some_tasks: Path, tmp_path: Path) -> None:
    """Tasks that are left out, or whose test was corrected, count neither as passed nor as failed."""
    tasks, verdicts = tmp_path / "tasks.parquet", tmp_path / "verdicts.parquet"
    table = load(some_tasks)
    pq.write_table(table, tasks)
    passing = {"BigCodeBench/59", "BigCodeBench/1006", "BigCodeBench/57", "BigCodeBench/1085"}
    rows = [
        {
            "task_id": task_id,
            "variant": "calibrated",
            "sanitizer": "none",
            "status": "pass" if task_id in passing else "fail",
        }
        for task_id in table["task_id"].to_pylist()
    ]
    pq.write_table(pa.Table.from_pylist(rows), verdicts)
    (score,) = verified_scores(tasks, verdicts)
    assert (score.original.value, score.original.n_tasks) == (pytest.approx(4 / 6), 6)
    assert (score.verified.value, score.verified.n_tasks) == (pytest.approx(2 / 3), 3)
    assert len(verified_table([score]).rows) == 1
    pq.write_table(load(some_tasks, ids="57,332"), tasks)
    assert verified_scores(tasks, verdicts) == []
